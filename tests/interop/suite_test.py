"""The JSON-Schema-Test-Suite through the daemon: a worker registers its schemas, calls carry its values over gRPC.

Each schema is registered as it is as a tool's output schema, and the worker answers with the value. Where that does not
change what it means, it is also the schema of one argument.
"""
import json
import re
import unittest

import grpc
import harness
from toolrack.v1 import tool_pb2
from toolrack.v1 import tool_service_pb2 as pb
from toolrack.v1 import worker_service_pb2 as worker_pb

# Draft: its $schema, the required cases, and those of schemas that need documents from elsewhere or a dialect of one's own.
DRAFTS = {
    "draft4": ("http://json-schema.org/draft-04/schema#", 618, 21),
    "draft6": ("http://json-schema.org/draft-06/schema#", 839, 27),
    "draft7": ("http://json-schema.org/draft-07/schema#", 927, 27),
    "draft2019-09": ("https://json-schema.org/draft/2019-09/schema", 1259, 40),
    "draft2020-12": ("https://json-schema.org/draft/2020-12/schema", 1299, 53),
}
SUITE = harness.SHARED / "data" / "json-schema-test-suite" / "tests"
REFUSALS = {"unresolved_reference", "unknown_dialect"}
HEAD, TAIL = '{"value":', "}"
# What makes a difference to where a schema stands.
PLACED = re.compile(r'"(?:\$ref|\$dynamicRef|\$recursiveRef|\$id|id|\$anchor|\$dynamicAnchor|\$schema)":')


def text(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def answer(arguments):
    """The value, as structured content."""
    result = worker_pb.WorkerToolResult()
    result.structured_json = arguments[len(HEAD):-len(TAIL)]
    return result


class Suite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.groups = {}  # canonical name: (draft, description, tests)
        cls.sets = {}
        for draft, (uri, _, _) in DRAFTS.items():
            namespace = draft.replace("draft", "d")
            tools = cls.sets[namespace] = []
            for file in sorted((SUITE / draft).glob("*.json")):
                for group in json.loads(file.read_text()):
                    cls.add(namespace, tools, draft, uri, f"{file.stem}: {group['description']}", group)
        cls.daemon = harness.Daemon()
        cls.addClassCleanup(cls.daemon.__exit__, None, None, None)
        cls.daemon.__enter__()
        cls.worker = harness.Worker(cls.daemon.channels["worker"], "suite")
        cls.addClassCleanup(cls.worker.close)
        for name in cls.groups:
            cls.worker.answers[name] = answer
        cls.worker.publish(cls.sets)

    @classmethod
    def add(cls, namespace, tools, draft, uri, description, group):
        schema = group["schema"]
        if isinstance(schema, dict) and "$schema" not in schema:
            schema = {"$schema": uri, **schema}
        number = len(tools)
        tools.append(tool_pb2.Tool(name=f"out_{number}", description=description, input_schema='{"type":"object"}',
                                   output_schema=text(schema)))
        cls.groups[f"{namespace}__out_{number}"] = (draft, description, group["tests"])
        inner = {k: v for k, v in schema.items() if k != "$schema"} if isinstance(schema, dict) else schema
        if PLACED.search(text(inner)) or schema is not inner and isinstance(schema, dict) and schema["$schema"] != uri:
            return
        wrapped = {"$schema": uri, "type": "object", "required": ["value"], "properties": {"value": inner}}
        tools.append(tool_pb2.Tool(name=f"in_{number}", description=description, input_schema=text(wrapped)))
        cls.groups[f"{namespace}__in_{number}"] = (draft, description, group["tests"])

    def test_every_value_gets_its_verdict(self):
        refused = {}
        for namespace, published in self.worker.published.items():
            self.assertEqual(list(published.rejected), [])
            for each in published.quarantined:
                errors = {f.rule for f in each.findings if f.severity == tool_pb2.FINDING_SEVERITY_ERROR}
                self.assertTrue(errors and errors <= REFUSALS, f"{namespace} {each}")
                refused[f"{namespace}__{each.name}"] = errors
        cases = {draft: 0 for draft in DRAFTS}
        unjudged = {draft: 0 for draft in DRAFTS}
        inputs = 0
        for name, (draft, description, tests) in self.groups.items():
            out = "__out_" in name
            cases[draft] += len(tests) if out else 0
            if name in refused:
                self.assertTrue(out, f"{name}: {description}")
                unjudged[draft] += len(tests)
                continue
            inputs += 0 if out else len(tests)
            running = [(test, self.daemon.tools.CallTool.future(
                pb.CallToolRequest(name=name, arguments_json=HEAD + text(test["data"]) + TAIL),
                timeout=harness.PATIENCE)) for test in tests]
            for test, call in running:
                where = f"{name}: {description}: {test['description']}"
                self.assertEqual(self.verdict(call, where), test["valid"], where)
        self.assertEqual(cases, {draft: numbers[1] for draft, numbers in DRAFTS.items()})
        self.assertEqual(unjudged, {draft: numbers[2] for draft, numbers in DRAFTS.items()})
        self.assertGreater(inputs, 3000)

    def verdict(self, call, where):
        try:
            result = call.result().result
        except grpc.RpcError as error:
            self.assertEqual(error.code(), grpc.StatusCode.INVALID_ARGUMENT, where)
            self.assertIn("do not fit its schema", error.details(), where)
            return False
        if result.is_error:
            self.assertEqual(result.error.reason, "OUTPUT_INVALID", where)
            return False
        return True

    def test_mended_arguments_are_told(self):
        tool = tool_pb2.Tool(name="mend", description="x", input_schema=text({
            "type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}))
        self.worker.publish({"mend": [tool]})
        call = pb.CallToolRequest(name="mend__mend", arguments_json='{"n": "5", "s": null}', call_id="mend")
        with self.assertRaises(grpc.RpcError) as caught:
            self.daemon.tools.CallTool(call)
        self.assertIn("omit it", caught.exception.details())
        call.coerce = True
        response = self.daemon.tools.CallTool(call)
        self.assertEqual([(r.pointer, r.kind) for r in response.repairs],
                         [("/n", "string_to_integer"), ("/s", "dropped_null")])
        self.assertEqual(self.worker.calls["mend"], ("mend__mend", b'{"n": 5}'))


if __name__ == "__main__":
    unittest.main()
