"""A hook in Python: asks a person before a dangerous tool runs, attached again whenever the stream ends.

Stubs: python -m grpc_tools.protoc -I proto --python_out=. --grpc_python_out=. proto/toolrack/v1/*.proto
Run:   python approver.py unix:/run/toolrack/control.sock
"""
import queue
import sys
import time

import grpc
from google.protobuf.duration_pb2 import Duration
from toolrack.v1 import hook_service_pb2 as pb
from toolrack.v1 import hook_service_pb2_grpc, tool_filter_pb2, tool_pb2

HELLO = pb.HookHello(
    hook_name="python-approver", protocol_version=1, points=[pb.HOOK_POINT_PRE_CALL], priority=100,
    filter=tool_filter_pb2.ToolFilter(risks=[tool_pb2.RISK_LEVEL_DANGEROUS]),
    timeout=Duration(seconds=120), failure_mode=pb.HOOK_FAILURE_MODE_FAIL_CLOSED)


def ask(event, tool):
    print(f"{event.principal} wants {event.tool_name}: {tool.description}\n"
          f"  with {event.call.arguments_json.decode()}\nAllow it? [y/N]", flush=True)
    return sys.stdin.readline().strip().lower() == "y"


def verdict(event, tool):
    said = {"pass": pb.HookPass()} if ask(event, tool) else {"deny": pb.HookDeny(reason=b"a person said no")}
    return pb.HookVerdict(event_id=event.event_id, **said)


def serve(address):
    out = queue.SimpleQueue()
    out.put(pb.HookServiceAttachRequest(hello=HELLO))
    tools = {}  # by digest
    with grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)]) as channel:
        for message in hook_service_pb2_grpc.HookServiceStub(channel).Attach(iter(out.get, None)):
            kind = message.WhichOneof("message")
            if kind == "welcome":
                print("attached", flush=True)
            elif kind == "tool":
                tools[message.tool.digest] = message.tool
            elif kind == "event":
                out.put(pb.HookServiceAttachRequest(verdict=verdict(message.event, tools[message.event.digest])))


while True:
    try:
        serve(sys.argv[1])
    except grpc.RpcError as lost:
        print("attach again:", lost.code().name, lost.details(), file=sys.stderr, flush=True)
    time.sleep(1)
