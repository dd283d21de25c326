"""A real daemon, a worker that records its calls, and the tools that are driven against them."""
import hashlib
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import tempfile
import threading

import grpc
from toolrack.v1 import admin_service_pb2 as admin_pb
from toolrack.v1 import admin_service_pb2_grpc
from toolrack.v1 import tool_service_pb2_grpc
from toolrack.v1 import worker_service_pb2 as worker_pb
from toolrack.v1 import worker_service_pb2_grpc

BIN = pathlib.Path(os.environ["TOOLRACK_BIN"])
CACHE = pathlib.Path(os.environ["TOOLRACK_TEST_CACHE"])
SHARED = pathlib.Path(os.environ["TOOLRACK_SHARED"])
PROTOS = pathlib.Path(__file__).resolve().parents[2] / "proto"
PATIENCE = 120  # seconds until something counts as hung


def namespace_for_id(identifier):
    """The rule for foreign ids, written a second time, from its description."""
    if re.fullmatch(r"[a-z0-9][a-z0-9-]{0,31}", identifier):
        return identifier
    slug = re.sub(r"[^a-z0-9]+", "-", identifier.lower()).strip("-") or "ns"
    return f"{slug[:25]}-{hashlib.sha256(identifier.encode()).hexdigest()[:6]}"


def require(test, part):
    """Skips the test, by name, when setup.sh could not get this part; with CI=true that is a failure."""
    if (CACHE / f"{part}.key").exists():
        return
    reason = CACHE / f"{part}.missing"
    text = f"{part}: {reason.read_text().strip() if reason.exists() else 'not set up'}"
    if os.environ.get("CI") == "true":
        test.fail(text)
    test.skipTest(text)


class Daemon:
    """toolrackd in a folder of its own, on its three sockets and a TCP port. Ends with the `with`, by SIGTERM."""

    def __init__(self, config=None):
        self._config = config

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="toolrack-", dir="/tmp")
        self.folder = pathlib.Path(self._folder.name)
        self.agent, self.worker, self.control = (
            f"unix:{self.folder}/{name}.sock" for name in ("agent", "worker", "control"))
        arguments = [BIN / "toolrackd", "--runtime-dir", self.folder, "--listen", "127.0.0.1:0"]
        if self._config is not None:
            (self.folder / "config.json").write_text(json.dumps(self._config))
            arguments += ["--config", self.folder / "config.json"]
        self._log = open(self.folder / "log", "w")
        self.process = subprocess.Popen(arguments, stdout=self._log, stderr=self._log)
        try:
            self.channels = {name: grpc.insecure_channel(getattr(self, name), options=[
                ("grpc.max_receive_message_length", -1), ("grpc.initial_reconnect_backoff_ms", 50),
                ("grpc.max_reconnect_backoff_ms", 50)]) for name in ("agent", "worker", "control")}
            grpc.channel_ready_future(self.channels["control"]).result(PATIENCE)
            self.admin = admin_service_pb2_grpc.AdminServiceStub(self.channels["control"])
            listeners = self.admin.GetStatus(admin_pb.GetStatusRequest(), wait_for_ready=True).listeners
            self.tcp = next(l.address for l in listeners if not l.address.startswith("unix:"))
            self.channels["tcp"] = grpc.insecure_channel(self.tcp)
        except BaseException:
            self.process.kill()
            self.process.wait()
            print((self.folder / "log").read_text())
            raise
        self.tools = tool_service_pb2_grpc.ToolServiceStub(self.channels["agent"])
        return self

    def stop(self):
        """Drains; gives the exit code."""
        for channel in self.channels.values():
            channel.close()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def __exit__(self, kind, *_):
        code = self.process.poll()
        if code is None:
            code = self.stop()
        self._log.close()
        text = (self.folder / "log").read_text()
        self._folder.cleanup()
        if kind is not None or code != 0:
            print(f"--- toolrackd ended with {code}; the end of its log:\n{text[-4000:]}")
        if kind is None and code != 0:
            raise AssertionError(f"toolrackd ended with {code}")

    def cli(self, *arguments, stdin=None, address=None):
        """Runs `toolrack`. Gives the finished process, its output as bytes."""
        where = ["--address", address] if address else ["--runtime-dir", str(self.folder)]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TOOLRACK_")}
        return subprocess.run([BIN / "toolrack", *where, *arguments], input=stdin, capture_output=True,
                              env=environment, timeout=PATIENCE, check=False)

    def grpcurl(self, socket, *arguments, stdin=None):
        """Runs grpcurl on `agent`, `worker`, `control` or `tcp`; the last argument is a method, or a verb and a symbol."""
        target = [self.tcp] if socket == "tcp" else ["-unix", str(self.folder / f"{socket}.sock")]
        *options, method = arguments
        verb = method.split()
        return subprocess.run([CACHE / "bin" / "grpcurl", "-plaintext", *options, *target, *verb], input=stdin,
                              capture_output=True, text=True, timeout=PATIENCE, check=False)


class Worker:
    """A worker whose tools give back their arguments, or what `answers` says; it records every call."""

    def __init__(self, channel, name="interop"):
        self.calls = {}  # call_id: (canonical name, arguments)
        self.answers = {}  # canonical name: function from arguments (bytes) to WorkerToolResult
        self.published = {}  # namespace: WorkerPublished
        self._changed = threading.Condition()
        self._out = queue.SimpleQueue()
        self._generation = 0
        self.error = None
        self._send(hello=worker_pb.WorkerHello(worker_name=name, protocol_version=1))
        self._stream = worker_service_pb2_grpc.WorkerServiceStub(channel).Attach(iter(self._out.get, None))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _send(self, **message):
        self._out.put(worker_pb.WorkerServiceAttachRequest(**message))

    def _answer(self, call):
        self.calls[call.call_id] = (call.tool, call.arguments_json)
        result = worker_pb.WorkerResult(invocation_id=call.invocation_id)
        if call.tool in self.answers:
            result.result.CopyFrom(self.answers[call.tool](call.arguments_json))
        else:
            result.result.content.add().text.text = call.arguments_json
        return result

    def _serve(self):
        try:
            for message in self._stream:
                kind = message.WhichOneof("message")
                if kind == "invocations":
                    self._send(results=worker_pb.WorkerResults(
                        results=[self._answer(call) for call in message.invocations.invocations]))
                elif kind == "ping":
                    self._send(pong=worker_pb.WorkerPong(nonce=message.ping.nonce))
                elif kind == "published":
                    with self._changed:
                        self.published[message.published.namespace] = message.published
                        self._changed.notify_all()
        except grpc.RpcError as error:
            self.error = error
        with self._changed:
            self._changed.notify_all()

    def publish(self, sets, mode=worker_pb.PUBLISH_MODE_BEST_EFFORT, chunk=1 << 20):
        """Publishes {namespace: tools}, in chunks of about `chunk` bytes, and waits for every answer."""
        with self._changed:
            for namespace in sets:
                self.published.pop(namespace, None)
        for namespace, tools in sets.items():
            self._generation += 1
            chunks, size = [[]], 0
            for tool in tools:
                if size > 0 and size + tool.ByteSize() > chunk:
                    chunks.append([])
                    size = 0
                chunks[-1].append(tool)
                size += tool.ByteSize()
            for i, part in enumerate(chunks):
                self._send(publish=worker_pb.WorkerPublish(
                    namespace=namespace, generation=self._generation, tools=part, mode=mode,
                    commit=i == len(chunks) - 1))
        with self._changed:
            done = self._changed.wait_for(lambda: self.error or sets.keys() <= self.published.keys(), PATIENCE)
        if self.error:
            raise self.error
        assert done, f"no answer to {sorted(sets.keys() - self.published.keys())[:5]}"

    def close(self):
        """Ends the stream."""
        self._out.put(None)
        self._stream.cancel()
        self._thread.join(PATIENCE)
