"""Thousands of real tools, published by one Python worker, listed, described, searched and called on both transports."""
import concurrent.futures
import json
import re
import unittest

import grpc
import harness
import jsonschema
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from instances import instance_of
from toolrack.v1 import tool_pb2
from toolrack.v1 import tool_service_pb2 as pb
from toolrack.v1 import tool_service_pb2_grpc
from toolrack.v1 import worker_service_pb2 as worker_pb

# Validly JSON, and everything that a parser likes to lose: blanks, key order, 64-bit integers, 1 against 1.0.
EXACT = ' {"z": 18446744073709551615,\n "a": 9007199254740993, "one": 1, "one_point": 1.0, "e": 1e2, "u": "\\u00e9\u00e9"}'
NUMBERS = {"type": "object", "required": ["z", "a"], "properties": {
    "z": {"type": "integer", "maximum": 18446744073709551615}, "a": {"type": "integer"}, "one": {"type": "integer"},
    "one_point": {"type": "number"}, "e": {"type": "number"}, "u": {"type": "string"}}}


def text(value):
    return json.dumps(value, ensure_ascii=False)


def tool_of(row):
    hints = row.get("annotations") or {}
    names = {"readOnlyHint": "read_only", "destructiveHint": "destructive", "idempotentHint": "idempotent",
             "openWorldHint": "open_world"}
    tool = tool_pb2.Tool(name=row["name"], title=row.get("title") or hints.get("title") or "",
                         description=row["description"], input_schema=text(row["inputSchema"]))
    if row.get("outputSchema") is not None:
        tool.output_schema = text(row["outputSchema"])
    for hint, field in names.items():
        if hints.get(hint) is not None:
            setattr(tool.annotations, field, hints[hint])
    return tool


def patterns_of(schema):
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "pattern" and isinstance(value, str):
                yield value
            yield from patterns_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from patterns_of(value)


def validator_of(schema):
    return jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema)


def fits_dialect(schema):
    try:
        jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator).check_schema(schema)
        return True
    except jsonschema.SchemaError:
        return False


def details_of(error):
    """{kind: message} of what a standard client decodes."""
    found = {}
    for detail in rpc_status.from_call(error).details:
        for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo,
                     error_details_pb2.ResourceInfo):
            message = kind()
            if detail.Is(kind.DESCRIPTOR) and detail.Unpack(message):
                found[kind.__name__] = message
    return found


class RealTools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = {}  # canonical name: (namespace, row)
        cls.sets = {}
        with open(harness.SHARED / "data" / "real_tools.jsonl", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                namespace = harness.namespace_for_id(row["source"])
                cls.sets.setdefault(namespace, []).append(tool_of(row))
                cls.rows[f"{namespace}__{row['name']}"] = (namespace, row)
        cls.bad_names = {n for n, (_, row) in cls.rows.items() if not re.fullmatch(r"[A-Za-z0-9_.-]+", row["name"])}
        cls.bad_roots = {n for n, (_, row) in cls.rows.items() if row["inputSchema"].get("type") != "object"}
        # Not linear-time: look-arounds and back-references.
        cls.bad_patterns = {n for n, (_, row) in cls.rows.items() if any(
            re.search(r"\(\?<?[=!]|\\[1-9]", p) for p in patterns_of(row["inputSchema"]))}
        # Not as the dialect's own schema says, e.g. a boolean exclusiveMinimum outside draft 4.
        cls.bad_keywords = {n for n, (_, row) in cls.rows.items() if not fits_dialect(row["inputSchema"])}
        cls.bad = cls.bad_roots | cls.bad_patterns | cls.bad_keywords
        cls.good = sorted(cls.rows.keys() - cls.bad_names - cls.bad, key=str.encode)
        # What comes back is compared to the letter, also what looks like a password.
        cls.daemon = harness.Daemon({"results": {"no_scrub": True}})
        cls.addClassCleanup(cls.daemon.__exit__, None, None, None)
        cls.daemon.__enter__()
        cls.worker = harness.Worker(cls.daemon.channels["worker"], "real-tools")
        cls.addClassCleanup(cls.worker.close)
        cls.worker.publish(cls.sets)
        cls.worker.publish({"exact": [tool_pb2.Tool(name="numbers", input_schema=text(NUMBERS))]},
                           mode=worker_pb.PUBLISH_MODE_ATOMIC)
        cls.transports = {name: tool_service_pb2_grpc.ToolServiceStub(cls.daemon.channels[name])
                          for name in ("agent", "tcp")}

    def list_raw(self, transport, **fields):
        """The bytes of every page."""
        ask = self.daemon.channels[transport].unary_unary(
            "/toolrack.v1.ToolService/ListTools", request_serializer=pb.ListToolsRequest.SerializeToString)
        pages, token = [], ""
        while True:
            pages.append(ask(pb.ListToolsRequest(page_token=token, **fields), timeout=harness.PATIENCE))
            token = pb.ListToolsResponse.FromString(pages[-1]).next_page_token
            if not token:
                return pages

    def list_names(self, transport="agent", **fields):
        return [t.name for page in self.list_raw(transport, **fields)
                for t in pb.ListToolsResponse.FromString(page).tools]

    def test_every_tool_is_registered_or_refused_by_name_with_its_reason(self):
        self.assertEqual((len(self.rows), len(self.sets)), (3295, 173))
        accepted, quarantined, rejected = set(), {}, {}
        for namespace, answer in self.worker.published.items():
            if namespace == "exact":
                continue
            accepted |= {f"{namespace}__{name}" for name in answer.accepted}
            quarantined |= {f"{namespace}__{r.name}": r for r in answer.quarantined}
            rejected |= {f"{namespace}__{r.name}": r for r in answer.rejected}
        self.assertEqual(rejected.keys(), self.bad_names)
        self.assertEqual(len(self.bad_names), 2)
        self.assertEqual(quarantined.keys(), self.bad)
        self.assertEqual((len(self.bad_roots), len(self.bad_patterns), len(self.bad_keywords)), (9, 1, 1))
        self.assertEqual(accepted, set(self.good))
        for name, refusal in rejected.items():
            self.assertIn("name", refusal.reasons[0].lower(), name)
        for name, refusal in quarantined.items():
            errors = [f for f in refusal.findings if f.severity == tool_pb2.FINDING_SEVERITY_ERROR]
            self.assertTrue(errors and refusal.reasons, name)
            pointer = errors[0].pointer
            if name in self.bad_roots:
                self.assertRegex(pointer, r"^/input_schema(/type)?$", name)
                self.assertIn("object", errors[0].message, name)
            else:
                self.assertRegex(pointer, "/pattern$" if name in self.bad_patterns else "/exclusiveMinimum$")

    def test_lists_give_all_tools_in_order_and_twice_the_same_bytes(self):
        for size in (0, 7, 1000):
            pages = self.list_raw("agent", page_size=size, namespaces=list(self.sets))
            listed = [t.name for p in pages for t in pb.ListToolsResponse.FromString(p).tools]
            self.assertEqual(listed, self.good)
            self.assertEqual(pages, self.list_raw("agent", page_size=size, namespaces=list(self.sets)))
            self.assertEqual(pages, self.list_raw("tcp", page_size=size, namespaces=list(self.sets)))
        full = self.list_raw("agent", page_size=1000, view=tool_pb2.TOOL_VIEW_FULL)
        self.assertEqual(full, self.list_raw("tcp", page_size=1000, view=tool_pb2.TOOL_VIEW_FULL))
        self.assertLess(max(map(len, full)), 1 << 21)
        everything = self.list_names(show_quarantined=True, namespaces=list(self.sets))
        self.assertEqual(everything, sorted(self.rows.keys() - self.bad_names, key=str.encode))
        self.assertIn("echo", self.list_names(namespaces=[""]))

    def test_a_description_gives_back_each_definition_byte_for_byte(self):
        for name in sorted(self.rows.keys() - self.bad_names):
            namespace, row = self.rows[name]
            sent = tool_of(row)
            got = self.daemon.tools.DescribeTool(pb.DescribeToolRequest(name=name), timeout=harness.PATIENCE)
            for field in ("title", "description", "input_schema", "output_schema", "annotations"):
                self.assertEqual(getattr(got, field), getattr(sent, field), (name, field))
            self.assertEqual((got.name, got.namespace, got.source.kind), (name, namespace, "worker"))
            good = name in set(self.good)
            self.assertEqual(got.state, tool_pb2.TOOL_STATE_ACTIVE if good else tool_pb2.TOOL_STATE_QUARANTINED)

    def test_a_search_finds_a_tool_by_its_name_first_and_by_what_it_does(self):
        for name in self.good[::40]:
            hits = self.daemon.tools.SearchTools(pb.SearchToolsRequest(query=name), timeout=harness.PATIENCE).hits
            self.assertEqual(hits[0].tool.name, name)
        for query, part in (("create a pull request", "pull_request"), ("send an email", "email"),
                            ("take a screenshot of the page", "screenshot")):
            hits = self.daemon.tools.SearchTools(pb.SearchToolsRequest(query=query, max_results=10)).hits
            self.assertTrue(any(part in hit.tool.name.lower() for hit in hits), [h.tool.name for h in hits])

    def test_a_valid_call_reaches_the_worker_unchanged_and_returns(self):
        calls, impossible = {}, []
        for number, name in enumerate(self.good):
            row = self.rows[name][1]
            arguments = instance_of(row["inputSchema"])
            if not validator_of(row["inputSchema"]).is_valid(arguments):
                impossible.append(name)  # an empty enum
                continue
            if row.get("outputSchema"):
                made = text(instance_of(row["outputSchema"])).encode()
                result = worker_pb.WorkerToolResult(structured_json=made)
                result.content.add().json.json = made
                self.worker.answers[name] = lambda _, result=result: result
            calls[f"valid-{number}"] = (name, text(arguments))
        self.assertLessEqual(len(impossible), 1, impossible)

        def run(item):
            call_id, (name, arguments) = item
            stub = self.transports["tcp" if hash(name) % 2 else "agent"]
            try:
                return call_id, stub.CallTool(pb.CallToolRequest(name=name, arguments_json=arguments, call_id=call_id),
                                              timeout=harness.PATIENCE)
            except grpc.RpcError as error:
                return call_id, error

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            outcomes = dict(pool.map(run, calls.items()))
        refused = {calls[i]: o.details() for i, o in outcomes.items() if isinstance(o, grpc.RpcError)}
        self.assertEqual(refused, {})
        for call_id, (name, arguments) in calls.items():
            self.assertEqual(self.worker.calls[call_id], (name, arguments.encode()))
            result = outcomes[call_id].result
            self.assertFalse(result.is_error, (name, result))
            if name in self.worker.answers:
                expected = self.worker.answers[name](b"").structured_json.decode()
                self.assertEqual(result.structured_json, expected)
            else:
                self.assertEqual(result.content[0].text.text, arguments)

    def test_an_invalid_call_never_reaches_the_worker(self):
        for number, name in enumerate(self.good):
            required = self.rows[name][1]["inputSchema"].get("required")
            arguments = "{}" if required else "[]"
            with self.assertRaises(grpc.RpcError) as caught:
                self.daemon.tools.CallTool(pb.CallToolRequest(name=name, arguments_json=arguments,
                                                              call_id=f"invalid-{number}"), timeout=harness.PATIENCE)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT, name)
            if required:
                details = details_of(caught.exception)
                self.assertEqual(details["ErrorInfo"].reason, "ARGUMENTS_INVALID")
                self.assertTrue(any(required[0] in v.field + v.description
                                    for v in details["BadRequest"].field_violations), (name, details))
        self.assertEqual([i for i in self.worker.calls if i.startswith("invalid-")], [])

    def test_a_quarantined_tool_says_so(self):
        for name in self.bad:
            with self.assertRaises(grpc.RpcError) as caught:
                self.daemon.tools.CallTool(pb.CallToolRequest(name=name))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
            self.assertEqual(details_of(caught.exception)["ErrorInfo"].reason, "TOOL_QUARANTINED")

    def test_numbers_key_order_and_spelling_survive_from_every_client(self):
        for transport, stub in self.transports.items():
            answer = stub.CallTool(pb.CallToolRequest(name="exact__numbers", arguments_json=EXACT, call_id=transport))
            self.assertEqual(answer.result.content[0].text.text, EXACT)
            self.assertEqual(self.worker.calls[transport], ("exact__numbers", EXACT.encode()))
            events = list(stub.CallToolStream(pb.CallToolStreamRequest(name="exact__numbers", arguments_json=EXACT)))
            self.assertEqual(events[-1].response.result.content[0].text.text, EXACT)
        for address in (None, self.daemon.tcp):
            ran = self.daemon.cli("call", "exact__numbers", "-d", "-", "--call-id", "cli", stdin=EXACT.encode(),
                                  address=address)
            self.assertEqual((ran.returncode, ran.stdout), (0, EXACT.encode() + b"\n"), ran.stderr)
            self.assertEqual(self.worker.calls.pop("cli")[1], EXACT.encode())

    def test_numbers_survive_grpcurl_too(self):
        harness.require(self, "grpcurl")
        for socket in ("agent", "tcp"):
            request = json.dumps({"name": "exact__numbers", "arguments_json": EXACT, "call_id": "grpcurl"})
            ran = self.daemon.grpcurl(socket, "-d", "@", "toolrack.v1.ToolService/CallTool", stdin=request)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(json.loads(ran.stdout)["result"]["content"][0]["text"]["text"], EXACT)
            self.assertEqual(self.worker.calls.pop("grpcurl")[1], EXACT.encode())

    def test_grpcurl_describes_the_same(self):
        harness.require(self, "grpcurl")
        for name in self.good[::400]:
            ran = self.daemon.grpcurl("tcp", "-d", json.dumps({"name": name}), "toolrack.v1.ToolService/DescribeTool")
            self.assertEqual(json.loads(ran.stdout)["inputSchema"], text(self.rows[name][1]["inputSchema"]))

    def test_the_command_lists_and_describes_the_same(self):
        ran = self.daemon.cli("list", "--json", address=self.daemon.tcp)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        listed = [t["name"] for t in json.loads(ran.stdout)["tools"]]
        self.assertEqual(listed, self.list_names())
        table = self.daemon.cli("list").stdout.decode().splitlines()
        self.assertEqual([line.split()[0] for line in table[1:]], listed)
        for name in self.good[::400]:
            schema = self.rows[name][1]["inputSchema"]
            ran = self.daemon.cli("describe", name, "--schema")
            self.assertEqual(ran.stdout.decode(), text(schema) + "\n")
        ran = self.daemon.cli("search", self.good[0], "--json")
        self.assertEqual(json.loads(ran.stdout)["hits"][0]["tool"]["name"], self.good[0])
        ran = self.daemon.cli("call", self.good[0], "-d", "[]")
        self.assertEqual(ran.returncode, 3, ran.stderr)

    def test_an_unknown_tool_is_not_found_with_near_names(self):
        near = self.good[5]
        with self.assertRaises(grpc.RpcError) as caught:
            self.daemon.tools.DescribeTool(pb.DescribeToolRequest(name=near[:-1] + "x"))
        details = details_of(caught.exception)
        self.assertEqual(details["ErrorInfo"].reason, "TOOL_NOT_FOUND")
        self.assertIn(near, details["ErrorInfo"].metadata["nearest"].split(","))


class Changes(unittest.TestCase):
    """A daemon of its own: the pages of the other one must not see a change."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = harness.Daemon()
        cls.addClassCleanup(cls.daemon.__exit__, None, None, None)
        cls.daemon.__enter__()
        cls.worker = harness.Worker(cls.daemon.channels["worker"], "changes")
        cls.addClassCleanup(cls.worker.close)

    def test_a_watch_follows_a_publish_and_can_be_resumed(self):
        stream = self.daemon.tools.WatchTools(pb.WatchToolsRequest(namespaces=["watched"]), timeout=harness.PATIENCE)
        self.assertEqual(next(stream).WhichOneof("event"), "reset")
        self.assertEqual(next(stream).WhichOneof("event"), "synced")

        def publish(*tools):
            self.worker.publish({"watched": [
                tool_pb2.Tool(name=name, description=words, input_schema='{"type": "object"}')
                for name, words in tools]})

        publish(("a", "1"), ("b", "1"))
        first = [next(stream), next(stream)]
        self.assertEqual([e.added.name for e in first], ["watched__a", "watched__b"])
        publish(("b", "2"), ("c", "1"))
        changes = {e.WhichOneof("event"): e for e in (next(stream), next(stream), next(stream))}
        self.assertEqual(changes["removed"].removed.name, "watched__a")
        self.assertEqual(changes["updated"].updated.description, "2")
        self.assertEqual(changes["added"].added.name, "watched__c")
        self.assertGreater(changes["added"].revision, first[0].revision)
        stream.cancel()

        resumed = self.daemon.tools.WatchTools(pb.WatchToolsRequest(
            epoch=first[1].epoch, from_revision=first[1].revision, namespaces=["watched"]), timeout=harness.PATIENCE)
        kinds = [next(resumed).WhichOneof("event") for _ in range(4)]
        self.assertEqual((sorted(kinds[:3]), kinds[3]), (["added", "removed", "updated"], "synced"))
        resumed.cancel()

    def test_a_lost_worker_makes_its_tools_unavailable_with_a_time_to_retry(self):
        lost = harness.Worker(self.daemon.channels["worker"], "lost")
        lost.publish({"lost": [tool_pb2.Tool(name="tool", input_schema='{"type": "object"}')]})
        watch = self.daemon.tools.WatchTools(pb.WatchToolsRequest(namespaces=["lost"]), timeout=harness.PATIENCE)
        seen = []
        while not seen or seen[-1].WhichOneof("event") != "synced":
            seen.append(next(watch))
        lost.close()
        self.assertEqual(next(watch).state.state, tool_pb2.TOOL_STATE_UNAVAILABLE)
        watch.cancel()
        with self.assertRaises(grpc.RpcError) as caught:
            self.daemon.tools.CallTool(pb.CallToolRequest(name="lost__tool"))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        details = details_of(caught.exception)
        self.assertEqual(details["ErrorInfo"].reason, "BACKEND_UNAVAILABLE")
        self.assertEqual(details["ErrorInfo"].domain, "toolrack.dev")
        self.assertEqual(details["ErrorInfo"].metadata["executed"], "no")
        self.assertGreater(details["RetryInfo"].retry_delay.ToNanoseconds(), 0)


if __name__ == "__main__":
    unittest.main()
