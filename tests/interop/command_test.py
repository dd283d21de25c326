"""The command `toolrack` against the real daemon: what it prints, and how it ends.

Goldens lie in golden/; TOOLRACK_UPDATE_GOLDENS=1 writes them anew.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import unittest

import harness
from toolrack.v1 import tool_pb2
from toolrack.v1 import worker_service_pb2 as worker_pb

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
# What differs from run to run.
PLACEHOLDERS = [
    (r"unix:/tmp/toolrack-[^/]+", "unix:FOLDER"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"[0-9a-f]{64}", "DIGEST"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r'("(epoch|call_id|worker_id)": )"[^"]*"', r'\1"ID"'),
    (r'("(duration|uptime|idle|age)": )"[^"]*"', r'\1"DURATION"'),
    (r'("(revision|definitions_revision)": )"\d+"', r'\1"N"'),
    (r"(?m)^(revision: +)\d+.*", r"\1N"),
    (r"revision \d+, digest", "revision N, digest"),
    (r"(?m)^\d+ +(reset|added|synced)", r"N \1"),
    (r"\d+ calls in flight", "N calls in flight"),
    (r"(?m)^(epoch: +)\S+", r"\1ID"),
    (r"(?m)^(up: +)\S+ since", r"\1DURATION since"),
    (r"(?m)^(process: +).*", r"\1PROCESS"),
    (r"(?m)^(version: +)\S+", r"\1VERSION"),
]
TOOLS = [
    tool_pb2.Tool(
        name="add", title="Addition", description="Adds two numbers.\nSecond line.",
        input_schema='{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer", '
                     '"default": 1.0}}, "required": ["a"], "additionalProperties": false}',
        categories=["basic", "numbers"], examples=["what is 1 plus 2"],
        annotations=tool_pb2.ToolAnnotations(read_only=True, idempotent=True)),
    tool_pb2.Tool(name="kensaku", description="文書を検索します。", input_schema='{"type":"object"}'),
    tool_pb2.Tool(name="note", description="Takes a line of text."),
    tool_pb2.Tool(name="broken", description="Faulty on purpose.", input_schema='{"type": "array"}'),
    tool_pb2.Tool(name="evil", description="\x1b[2J\u202egnorts\x07 \x9b31m", input_schema='{"type":"object"}'),
    tool_pb2.Tool(name="fails", description="Always fails.", input_schema='{"type":"object"}',
                  annotations=tool_pb2.ToolAnnotations(destructive=True)),
    tool_pb2.Tool(name="large", description="Gives back much.", input_schema='{"type":"object"}'),
]


def fails(_):
    result = worker_pb.WorkerToolResult(is_error=True)
    result.error.reason = b"EXECUTION_FAILED"
    result.content.add().text.text = b"it did not work"
    return result


def large(_):
    result = worker_pb.WorkerToolResult()
    result.content.add().text.text = LARGE
    return result


LARGE = "".join(f"line {n} – größer\n" for n in range(20000)).encode()


class Command(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.daemon = harness.Daemon()
        cls.addClassCleanup(cls.daemon.__exit__, None, None, None)
        cls.daemon.__enter__()
        cls.worker = harness.Worker(cls.daemon.channels["worker"], "demo-worker")
        cls.addClassCleanup(cls.worker.close)
        cls.worker.answers = {"demo__fails": fails, "demo__large": large}
        cls.worker.publish({"demo": TOOLS})

    def golden(self, name, *arguments, code=0, stdin=None):
        """Standard output, then standard error, against the file."""
        ran = self.daemon.cli(*arguments, stdin=stdin)
        text = ran.stdout.decode() + ("--- stderr\n" + ran.stderr.decode() if ran.stderr else "")
        for pattern, placeholder in PLACEHOLDERS:
            text = re.sub(pattern, placeholder, text)
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("TOOLRACK_UPDATE_GOLDENS"):
            path.write_text(text)
        self.assertEqual(text, path.read_text())
        self.assertEqual(ran.returncode, code)

    def test_tables_and_documents_are_as_they_were(self):
        demo = ("--namespace", "demo")
        for name, arguments, code in (
                ("list", ("list", *demo), 0),
                ("list_quarantined", ("list", "demo__b", "--quarantined"), 0),
                ("list_json", ("list", "demo__a", "--json"), 0),
                ("describe", ("describe", "demo__add"), 0),
                ("describe_json", ("describe", "demo__add", "--json"), 0),
                ("describe_quarantined", ("describe", "demo__broken"), 0),
                ("describe_unknown", ("describe", "demo__ad"), 4),
                ("search_select", ("search", "--select", "demo__add", "demo__kensaku"), 0),
                ("call_json", ("call", "demo__add", "a:=1", "--json"), 0),
                ("call_invalid", ("call", "demo__add", "b=x"), 3),
                ("call_invalid_json", ("call", "demo__add", "b=x", "--json"), 3),
                ("call_not_json", ("call", "demo__add", "-d", "{'a': 1}"), 3),
                ("call_unknown", ("call", "demo__ad"), 4),
                ("call_quarantined", ("call", "demo__broken"), 5),
                ("call_fails", ("call", "demo__fails"), 1),
                ("explain", ("explain", "demo__add", "a:=1"), 0),
                ("explain_invalid", ("explain", "demo__add", "a=one", "c=2"), 3),
                ("watch", ("watch", *demo, "--snapshot"), 0),
                ("calls", ("calls",), 0),
                ("cancel_unknown", ("cancel", "nothing"), 4),
                ("drain_unknown", ("drain", "nobody"), 4),
                ("result_unknown", ("read-result", "nothing"), 4),
                ("health", ("health", "--ready"), 0),
                ("help", ("--help",), 0)):
            with self.subTest(name):
                self.golden(name, *arguments, code=code)

    def test_arguments_come_in_every_form(self):
        file = self.daemon.folder / "arguments.json"
        file.write_text('{"a": 18446744073709551615}')
        for arguments, stdin, expected in (
                (('{"a": 1, "b": 2}',), None, '{"a": 1, "b": 2}'),
                (("a:=1", "b:=2"), None, '{"a":1,"b":2}'),
                (("--arg", "b:=2", "--arg", "a:=1"), None, '{"b":2,"a":1}'),
                (("-d", f"@{file}"), None, '{"a": 18446744073709551615}'),
                (("-d", "-"), b' {"a":9007199254740993}\n', ' {"a":9007199254740993}\n')):
            ran = self.daemon.cli("call", "demo__add", *arguments, "--call-id", "form", stdin=stdin)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(self.worker.calls.pop("form"), ("demo__add", expected.encode()))
        ran = self.daemon.cli("call", "demo__note", "--text", "-", stdin='say "hi"'.encode())
        self.assertEqual((ran.returncode, json.loads(ran.stdout)), (0, {"input": 'say "hi"'}), ran.stderr)

    def test_bad_input_never_reaches_the_daemon(self):
        before = len(self.worker.calls)
        for arguments, stdin, code in (
                (("call", "demo__add", "neither"), None, 2), (("call", "demo__add", "a:={"), None, 2),
                (("call", "demo__add", "[]"), None, 2), (("call", "demo__add", "[1, 2]"), None, 2),
                (("call", "demo__add", "-d", "@/nonexistent"), None, 2),
                (("call", "demo__add", "-d", "-"), b'{"a": "\xff"}', 3), (("call",), None, 2), (("bogus",), None, 2)):
            ran = self.daemon.cli(*arguments, stdin=stdin)
            self.assertEqual((ran.returncode, ran.stdout), (code, b""))
            self.assertNotEqual(ran.stderr, b"")
        self.assertEqual(len(self.worker.calls), before)

    def test_a_stranger_cannot_drive_the_terminal(self):
        listed = self.daemon.cli("list", "demo__evil").stdout.decode()
        self.assertIn("\\x1b[2J\\u202egnorts\\x07 \\x9b31m", listed)
        # `script` gives the command a terminal of its own.
        ran = subprocess.run(["script", "-qec", f"{harness.BIN}/toolrack --runtime-dir {self.daemon.folder} "
                              "describe demo__evil", "/dev/null"], stdin=subprocess.DEVNULL, capture_output=True,
                             timeout=harness.PATIENCE, check=False)
        self.assertIn(b"\\x1b[2J", ran.stdout)
        self.assertNotRegex(ran.stdout.decode(), "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]")

    def test_a_cut_result_can_be_read_whole(self):
        ran = self.daemon.cli("call", "demo__large")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertLess(len(ran.stdout), len(LARGE))
        handle = re.search(r"read-result (\S+)`", ran.stderr.decode()).group(1)
        self.assertEqual(self.daemon.cli("read-result", handle).stdout, LARGE)
        self.assertEqual(self.daemon.cli("read-result", handle, "--offset", "5", "--length", "9").stdout, LARGE[5:14])
        ran = self.daemon.cli("read-result", handle, "--output", str(self.daemon.folder / "whole"))
        self.assertEqual((self.daemon.folder / "whole").read_bytes(), LARGE)

    def test_a_streaming_call_shows_progress(self):
        ran = self.daemon.cli("call", "sleep", "seconds:=0.3", "--stream")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(b"progress ", ran.stderr)
        events = [json.loads(line) for line in
                  self.daemon.cli("call", "sleep", "seconds:=0.3", "--stream", "--json").stdout.splitlines()]
        self.assertIn("progress", events[0])
        self.assertIn("response", events[-1])

    def start_sleeping(self, call_id):
        process = subprocess.Popen([harness.BIN / "toolrack", "--runtime-dir", self.daemon.folder, "call", "sleep",
                                    "seconds:=60", "--stream", "--call-id", call_id],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        process.stderr.readline()  # the first progress: the tool is running
        return process

    def running(self):
        return [c["call_id"] for c in json.loads(self.daemon.cli("calls", "--json").stdout)["calls"]]

    def test_ctrl_c_ends_the_call_everywhere(self):
        process = self.start_sleeping("mine")
        self.assertIn("mine", self.running())
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, 10, error)
        while "mine" in self.running():  # bounded by the test's own time limit
            pass

    def test_an_administrator_ends_a_call(self):
        process = self.start_sleeping("theirs")
        self.assertEqual(self.daemon.cli("cancel", "theirs").stdout, b"told 1 call to end\n")
        _, error = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, 10, error)
        self.assertIn("CANCELLED", error)

    def test_a_call_that_takes_too_long_ends_with_nine(self):
        ran = self.daemon.cli("call", "sleep", "seconds:=60", "--timeout", "100ms")
        self.assertEqual(ran.returncode, 9, ran.stderr)
        self.assertIn(b"TIMEOUT", ran.stderr)

    def test_a_tool_is_switched_off_and_on(self):
        self.assertEqual(self.daemon.cli("disable", "demo__kensaku").stdout, b"demo__kensaku is disabled\n")
        ran = self.daemon.cli("call", "demo__kensaku")
        self.assertEqual(ran.returncode, 5)
        self.assertIn(b"TOOL_DISABLED", ran.stderr)
        self.assertEqual(self.daemon.cli("enable", "demo__kensaku").stdout, b"demo__kensaku is active\n")
        self.assertEqual(self.daemon.cli("call", "demo__kensaku").returncode, 0)

    def test_status_and_workers_tell_what_is_there(self):
        status = json.loads(self.daemon.cli("status", "--json").stdout)
        self.assertEqual((status["state"], status["workers"], status["pid"]),
                         ("serving", 1, str(self.daemon.process.pid)))
        self.assertGreater(int(status["rss_bytes"]), 1 << 20)
        shown = self.daemon.cli("status").stdout.decode()
        self.assertIn("state:     serving\n", shown)
        self.assertIn(f"listens:   {self.daemon.tcp} (agent)\n", shown)
        line = self.daemon.cli("workers").stdout.decode().splitlines()[1].split()
        self.assertEqual(line[:3], ["demo-worker", "attached", "7"])
        self.assertIn("demo", line[-1].split(","))

    def test_administration_is_refused_on_the_agents_socket(self):
        ran = self.daemon.cli("status", address=self.daemon.agent)
        self.assertEqual(ran.returncode, 5)
        self.assertIn(b"control.sock", ran.stderr)

    def test_a_watch_prints_changes_as_they_come(self):
        process = subprocess.Popen([harness.BIN / "toolrack", "--runtime-dir", self.daemon.folder, "watch",
                                    "--namespace", "later", "--json", "--count", "3"],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        events = [json.loads(process.stdout.readline()) for _ in range(2)]
        self.worker.publish({"later": [tool_pb2.Tool(name="tool", input_schema='{"type": "object"}')]})
        events.append(json.loads(process.stdout.readline()))
        self.assertEqual(process.wait(harness.PATIENCE), 0)
        process.stdout.close()
        self.assertEqual([next(k for k in ("reset", "synced", "added") if k in e) for e in events],
                         ["reset", "synced", "added"])
        self.assertEqual(events[2]["added"]["name"], "later__tool")
        self.worker.publish({"later": []})

    def test_nobody_there_ends_with_seven(self):
        for arguments in (("list",), ("call", "echo"), ("health", "--live"), ("watch",)):
            ran = self.daemon.cli(*arguments, address="unix:/tmp/toolrack-nobody/agent.sock")
            self.assertEqual(ran.returncode, 7, ran.stderr)
            self.assertIn(b"toolrackd", ran.stderr)


class Draining(unittest.TestCase):
    def test_a_draining_daemon_is_alive_but_not_ready_and_ends_well(self):
        with harness.Daemon() as daemon:
            busy = threading.Thread(target=daemon.cli, args=("call", "sleep", "seconds:=2"))
            busy.start()
            while not json.loads(daemon.cli("calls", "--json").stdout)["calls"]:
                pass
            self.assertEqual(daemon.cli("drain", "--grace", "30s").stdout, b"draining, 1 running\n")
            self.assertEqual(daemon.cli("health", "--ready").returncode, 7)
            self.assertEqual(daemon.cli("health", "--live").returncode, 0)
            refused = daemon.cli("call", "echo", "text=hi")
            self.assertEqual(refused.returncode, 7)
            self.assertIn(b"DRAINING", refused.stderr)
            busy.join()
            self.assertEqual(daemon.process.wait(harness.PATIENCE), 0)


if __name__ == "__main__":
    unittest.main()
