"""A caller in Python: lists the tools, calls one, and reads the reason of a refusal.

Stubs: python -m grpc_tools.protoc -I proto --python_out=. --grpc_python_out=. proto/toolrack/v1/*.proto
Run:   python caller.py unix:/run/toolrack/agent.sock echo '{"text": "hello"}'
"""
import sys

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from toolrack.v1 import tool_service_pb2 as pb
from toolrack.v1 import tool_service_pb2_grpc


def tools(stub):
    token = ""
    while True:
        page = stub.ListTools(pb.ListToolsRequest(page_token=token))
        yield from page.tools
        token = page.next_page_token
        if not token:
            return


def text_of(result):
    for part in result.content:
        kind = part.WhichOneof("content")
        yield {"text": lambda: part.text.text, "json": lambda: part.json.json}.get(kind, lambda: f"[{kind}]")()


def explain(error):
    print(f"{error.code().name}: {error.details()}", file=sys.stderr)
    status = rpc_status.from_call(error)
    for detail in status.details if status else ():
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            print(f"reason {info.reason}, {dict(info.metadata)}", file=sys.stderr)
        elif detail.Unpack(bad):
            for fault in bad.field_violations:
                print(f"at {fault.field or '/'}: {fault.description}", file=sys.stderr)


def main(address, name=None, arguments="{}"):
    with grpc.insecure_channel(address) as channel:
        stub = tool_service_pb2_grpc.ToolServiceStub(channel)
        if name is None:
            for tool in tools(stub):
                print(tool.name, "-", tool.description.split("\n")[0])
            return 0
        try:
            result = stub.CallTool(pb.CallToolRequest(name=name, arguments_json=arguments), timeout=30).result
        except grpc.RpcError as error:
            explain(error)
            return 2
        print(*text_of(result), sep="\n")
        return 1 if result.is_error else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
