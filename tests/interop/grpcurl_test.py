"""grpcurl drives every RPC once, with nothing but reflection; a new RPC without a case fails."""
import json
import unittest

import grpc
import harness
from toolrack.v1 import (admin_service_pb2, dispatcher_service_pb2, hook_service_pb2, renderer_service_pb2,
                         session_service_pb2, tool_service_pb2, worker_service_pb2)

SERVICES = [service for module in (tool_service_pb2, renderer_service_pb2, dispatcher_service_pb2, session_service_pb2,
                                   worker_service_pb2, hook_service_pb2, admin_service_pb2)
            for service in module.DESCRIPTOR.services_by_name.values()]
HELLO = {"hello": {"workerName": "grpcurl", "protocolVersion": 1}}
PUBLISH = {"publish": {"namespace": "by-hand", "generation": 1, "commit": True,
                       "tools": [{"name": "tool", "inputSchema": '{"type": "object"}'}]}}


def field(name, check):
    return lambda answers: check(answers[-1][name])


# Service/Method: (socket, messages, what the answers must fulfil; or the gRPC code of a refusal)
CASES = {
    "ToolService/ListTools": ("agent", [{"pageSize": 2}], field("tools", lambda tools: len(tools) == 2)),
    "ToolService/DescribeTool": ("agent", [{"name": "echo"}], field("name", lambda name: name == "echo")),
    "ToolService/SearchTools": ("agent", [{"query": "echo"}], field("hits", lambda h: h[0]["tool"]["name"] == "echo")),
    "ToolService/CallTool": ("agent", [{"name": "calculator", "arguments": {"expression": "6*7"}}],
                             field("result", lambda result: "42" in json.dumps(result))),
    "ToolService/CallToolStream": ("agent", [{"name": "echo", "argumentsJson": '{"text": "hi"}'}],
                                   field("response", lambda response: "hi" in json.dumps(response))),
    "ToolService/ExplainCall": ("agent", [{"name": "echo", "argumentsJson": "{}"}],
                                field("verdict", lambda verdict: verdict["reason"] == "ARGUMENTS_INVALID")),
    "ToolService/WatchTools": ("agent", [{}], lambda answers: "reset" in answers[0] and "synced" in answers[-1]),
    "ToolService/ReadResult": ("agent", [{"handle": "none"}], "NotFound"),
    "RendererService/ListRenderers": ("agent", [{}], field("renderers", lambda found: len(found) > 20)),
    "RendererService/ResolveRenderer": ("agent", [{"model": "gpt-oss-20b"}],
                                        field("renderers", lambda r: r[0]["name"] == "harmony_upfront")),
    "RendererService/RenderInitial": ("agent", [{"renderer": "claude_deferred"}],
                                      field("fragments", lambda f: "<functions>" in f[0]["text"])),
    "RendererService/RenderToolLoad": ("agent", [{"renderer": "claude_deferred", "names": ["echo"]}],
                                       field("fragments", lambda f: "echo" in f[0]["text"])),
    "RendererService/RenderChanges": ("agent", [{"renderer": "anthropic", "known": ["gone"]}],
                                      field("removed", lambda removed: removed == ["gone"])),
    "RendererService/RenderBoundary": ("agent", [{"renderer": "rolling_developer"}],
                                       field("prompt", lambda prompt: len(prompt["fragments"]) == 2)),
    "RendererService/RenderHistory": ("agent", [{"renderer": "openai_chat", "turns": [{"role": "user", "text": "Hi"}]}],
                                      field("messages", lambda messages: "Hi" in messages[0]["json"])),
    "RendererService/ParseOutput": ("agent", [{"renderer": "anthropic", "providerJson": json.dumps(
        [{"type": "tool_use", "id": "t1", "name": "echo", "input": {"text": "hi"}}])}],
                                    field("events", lambda events: events[0]["call"]["name"] == "echo")),
    "RendererService/ParseOutputStream": ("agent", [{"renderer": "harmony", "text": "SGk="}],
                                          field("text", lambda text: text == "SGk=")),
    "RendererService/FormatResult": ("agent", [{"renderer": "openai_chat", "call": {"callId": "c"},
                                                "status": {"message": "No."}}],
                                     field("message", lambda message: "No." in message["json"])),
    "DispatcherService/Dispatch": ("agent", [{"sessionId": "none", "text": "SGk="}], "NotFound"),
    "DispatcherService/DispatchStream": ("agent", [{"sessionId": "none", "text": "SGk="}], "NotFound"),
    "SessionService/OpenSession": ("agent", [{"loadedTools": ["echo"], "ttl": "60s"}],
                                   field("loadedTools", lambda tools: tools[0]["name"] == "echo")),
    "SessionService/GetSession": ("agent", [{"sessionId": "none"}], "NotFound"),
    "SessionService/ListSessions": ("control", [{}], field("sessions", lambda sessions: len(sessions) == 1)),
    "SessionService/CloseSession": ("agent", [{"sessionId": "none"}], "NotFound"),
    "SessionService/LoadTools": ("agent", [{"sessionId": "none", "names": ["echo"]}], "NotFound"),
    "SessionService/UnloadTools": ("agent", [{"sessionId": "none", "names": ["echo"]}], "NotFound"),
    "WorkerService/Attach": ("worker", [HELLO, PUBLISH], lambda answers: "welcome" in answers[0]),
    "HookService/Attach": ("control", [{"hello": {"hookName": "grpcurl", "protocolVersion": 1,
                                                  "points": ["HOOK_POINT_POST_CALL"], "observeOnly": True}}],
                           lambda answers: "welcome" in answers[0]),
    "AdminService/GetStatus": ("control", [{}], field("state", lambda state: state == "serving")),
    "AdminService/ListWorkers": ("control", [{}], lambda answers: len(answers) == 1),
    "AdminService/ListHooks": ("control", [{}], lambda answers: len(answers) == 1),
    "AdminService/ListCalls": ("control", [{}], lambda answers: len(answers) == 1),
    "AdminService/CancelCall": ("control", [{"callId": "none"}], "NotFound"),
    "AdminService/SetToolEnabled": ("control", [{"name": "echo", "enabled": True}], field("revision", bool)),
    "AdminService/ApproveTool": ("control", [{"name": "none", "digest": "d"}], "NotFound"),
    "AdminService/ListApprovals": ("control", [{}], lambda answers: len(answers) == 1),
    "AdminService/DecideApproval": ("control", [{"approvalId": "none"}], "FailedPrecondition"),
    "AdminService/ReloadConfig": ("control", [{}], "FailedPrecondition"),
    "AdminService/Drain": ("control", [{"workerName": "nobody"}], "NotFound"),
}


def documents(text):
    """The JSON documents that grpcurl printed one after the other."""
    decoder, found, text = json.JSONDecoder(), [], text.strip()
    while text:
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:].lstrip()
    return found


class Grpcurl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = harness.Daemon()
        cls.addClassCleanup(cls.daemon.__exit__, None, None, None)
        cls.daemon.__enter__()

    def test_there_is_a_case_for_every_rpc(self):
        self.assertEqual({f"{s.name}/{m.name}" for s in SERVICES for m in s.methods}, CASES.keys())

    def test_every_rpc_can_be_driven_by_hand(self):
        for method, (socket, messages, expected) in CASES.items():
            with self.subTest(method):
                # A watch does not end by itself.
                options = ["-max-time", "3"] if method.endswith("WatchTools") else []
                ran = self.daemon.grpcurl(socket, *options, "-d", "@", f"toolrack.v1.{method}",
                                          stdin="".join(map(json.dumps, messages)))
                if isinstance(expected, str):
                    self.assertIn(f"Code: {expected}", ran.stderr)
                    self.assertIn('"reason":', ran.stderr)
                    continue
                self.assertTrue(ran.returncode == 0 or options, ran.stderr)
                self.assertTrue(expected(documents(ran.stdout)), ran.stdout)

    def test_every_socket_lists_its_services(self):
        agents = {"ToolService", "RendererService", "DispatcherService", "SessionService"}
        own = {"agent": agents, "tcp": agents, "worker": agents | {"WorkerService"},
               "control": agents | {"WorkerService", "HookService", "AdminService"}}
        for socket, services in own.items():
            ran = self.daemon.grpcurl(socket, "list")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            listed = {line for line in ran.stdout.split() if line.startswith("toolrack.")}
            self.assertLessEqual({f"toolrack.v1.{name}" for name in services}, listed)
            self.assertIn("grpc.health.v1.Health", ran.stdout)

    def test_descriptions_come_with_every_element(self):
        ran = self.daemon.grpcurl("control", "describe toolrack.v1.ToolService")
        self.assertIn("rpc CallTool", ran.stdout)
        ran = self.daemon.grpcurl("agent", "describe toolrack.v1.Tool")
        self.assertIn("string input_schema = 5;", ran.stdout)

    def test_details_of_a_refusal_are_shown_decoded(self):
        ran = self.daemon.grpcurl("tcp", "-d", '{"name": "ecko"}', "toolrack.v1.ToolService/CallTool")
        self.assertEqual(ran.returncode, 64 + grpc.StatusCode.NOT_FOUND.value[0])
        self.assertIn('"reason": "TOOL_NOT_FOUND"', ran.stderr)
        self.assertIn('"nearest": "echo', ran.stderr)
        ran = self.daemon.grpcurl("tcp", "-d", '{"name": "echo", "argumentsJson": "{}"}',
                                  "toolrack.v1.ToolService/CallTool")
        self.assertIn("google.rpc.BadRequest", ran.stderr)
        self.assertIn('"fieldViolations"', ran.stderr)

    def test_the_wrong_socket_names_the_right_one(self):
        # Reflection of the agent's socket does not know the service: the protos do.
        ran = self.daemon.grpcurl("agent", "-import-path", str(harness.PROTOS), "-proto",
                                  "toolrack/v1/admin_service.proto", "toolrack.v1.AdminService/GetStatus")
        self.assertIn("PermissionDenied", ran.stderr)
        self.assertIn("control.sock", ran.stderr)

    def test_both_versions_of_reflection_answer(self):
        for version in ("v1", "v1alpha"):
            for channel in self.daemon.channels.values():
                ask = channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")
                answer = next(ask(iter([b"\x3a\x01*"]), timeout=harness.PATIENCE))  # list_services = "*"
                self.assertIn(b"toolrack.v1.ToolService", answer)


if __name__ == "__main__":
    unittest.main()
