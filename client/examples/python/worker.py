"""A worker in Python: two tools on one stream, attached again whenever the stream ends.

Stubs: python -m grpc_tools.protoc -I proto --python_out=. --grpc_python_out=. proto/toolrack/v1/*.proto
Run:   python worker.py unix:/run/toolrack/worker.sock
"""
import json
import queue
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
from toolrack.v1 import tool_pb2
from toolrack.v1 import worker_service_pb2 as pb
from toolrack.v1 import worker_service_pb2_grpc


def add(a, b):
    return {"sum": a + b}


def reverse(text):
    return {"text": text[::-1]}


def schema(**kinds):
    return json.dumps({"type": "object", "properties": {k: {"type": v} for k, v in kinds.items()},
                       "required": list(kinds), "additionalProperties": False})


FUNCTIONS = {"add": add, "reverse": reverse}
TOOLS = [
    tool_pb2.Tool(name="add", description="Adds two integers, however large.",
                  input_schema=schema(a="integer", b="integer"),
                  annotations=tool_pb2.ToolAnnotations(read_only=True, idempotent=True)),
    tool_pb2.Tool(name="reverse", description="Turns a text around.", input_schema=schema(text="string")),
]


def answer(call):
    result = pb.WorkerResult(invocation_id=call.invocation_id)
    try:
        text = json.dumps(FUNCTIONS[call.name](**json.loads(call.arguments_json))).encode()
        result.result.structured_json = text
        result.result.content.add().json.json = text
    except Exception as error:  # a failing tool is an answer, not the end of the worker
        result.failure.code = pb.WORKER_FAILURE_CODE_EXECUTION_FAILED
        result.failure.message = str(error).encode()
    return result


def serve(address, pool):
    out = queue.SimpleQueue()
    out.put(pb.WorkerServiceAttachRequest(hello=pb.WorkerHello(worker_name="python-example", protocol_version=1)))
    out.put(pb.WorkerServiceAttachRequest(publish=pb.WorkerPublish(
        namespace="py", generation=1, tools=TOOLS, mode=pb.PUBLISH_MODE_ATOMIC, commit=True)))

    def run(call):
        out.put(pb.WorkerServiceAttachRequest(results=pb.WorkerResults(results=[answer(call)])))

    with grpc.insecure_channel(address) as channel:
        for message in worker_service_pb2_grpc.WorkerServiceStub(channel).Attach(iter(out.get, None)):
            kind = message.WhichOneof("message")
            if kind == "published":
                print("published", *message.published.accepted, flush=True)
            elif kind == "invocations":
                for call in message.invocations.invocations:
                    pool.submit(run, call)
            elif kind == "ping":
                out.put(pb.WorkerServiceAttachRequest(pong=pb.WorkerPong(nonce=message.ping.nonce)))


with ThreadPoolExecutor(8) as workers:
    while True:
        try:
            serve(sys.argv[1], workers)
        except grpc.RpcError as lost:
            print("attach again:", lost.code().name, lost.details(), file=sys.stderr, flush=True)
        time.sleep(1)
