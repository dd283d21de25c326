"""The examples in Python, Go and TypeScript, worker and caller, each against the real daemon, across languages."""
import pathlib
import subprocess
import sys
import unittest

import grpc
import harness
from toolrack.v1 import tool_service_pb2 as pb

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "client" / "examples"
NODE = harness.CACHE / "node" / "dist"
WORKERS = {
    "python": [sys.executable, EXAMPLES / "python" / "worker.py", "{address}"],
    "go": [harness.CACHE / "bin" / "go-worker", "{address}"],
    "typescript": ["node", NODE / "worker.js", "{address}", harness.PROTOS],
}
CALLERS = {
    "python": [sys.executable, EXAMPLES / "python" / "caller.py", "{address}", "{tool}", "{arguments}"],
    "go": [harness.CACHE / "bin" / "go-caller", "{address}", "{tool}", "{arguments}"],
    "typescript": ["node", NODE / "caller.js", "{address}", harness.PROTOS, "{tool}", "{arguments}"],
}
# What setup.sh must have got.
PARTS = {"python": "python", "go": "go", "typescript": "node"}
# A tool of each worker: arguments, what it gives, arguments against the schema.
TOOLS = {
    "python": ("py__add", '{"a": 9007199254740993, "b": 18446744073709551615}', '{"sum": 18455751272964292608}',
               '{"a": 1}'),
    "go": ("go__multiply", '{"a": 9007199254740993, "b": 3}', '{"product":27021597764222979}', '{"a": 1, "b": "x"}'),
    "typescript": ("ts__join", '{"words": ["größer", "検索"]}', '{"text":"größer 検索"}', '{"words": "x"}'),
}


def command(template, **values):
    return [str(part).format(**values) if "{" in str(part) else str(part) for part in template]


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = harness.Daemon()
        cls.addClassCleanup(cls.daemon.__exit__, None, None, None)
        cls.daemon.__enter__()
        here = [language for language, part in PARTS.items() if (harness.CACHE / f"{part}.key").exists()]
        watch = cls.daemon.tools.WatchTools(pb.WatchToolsRequest(namespaces=["py", "go", "ts"]),
                                            timeout=harness.PATIENCE)
        for language in here:
            worker = subprocess.Popen(command(WORKERS[language], address=cls.daemon.worker),
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            cls.addClassCleanup(worker.wait)
            cls.addClassCleanup(worker.kill)
        missing = {TOOLS[language][0] for language in here}
        while missing:
            missing.discard(next(watch).added.name)
        watch.cancel()

    def call(self, caller, address, tool, arguments):
        return subprocess.run(command(CALLERS[caller], address=address, tool=tool, arguments=arguments),
                              capture_output=True, text=True, timeout=harness.PATIENCE, check=False)

    def pairs(self):
        for caller, part in PARTS.items():
            for worker, (tool, arguments, expected, wrong) in TOOLS.items():
                with self.subTest(caller=caller, worker=worker):
                    harness.require(self, part)
                    harness.require(self, PARTS[worker])
                    yield caller, tool, arguments, expected, wrong

    def test_every_caller_calls_every_worker_on_both_transports(self):
        for caller, tool, arguments, expected, _ in self.pairs():
            for address in (self.daemon.agent, self.daemon.tcp):
                ran = self.call(caller, address, tool, arguments)
                self.assertEqual((ran.returncode, ran.stdout), (0, expected + "\n"), ran.stderr)

    def test_every_caller_shows_why_it_was_refused(self):
        for caller, tool, _, _, wrong in self.pairs():
            ran = self.call(caller, self.daemon.agent, tool, wrong)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn("do not fit its schema", ran.stderr)
            if caller != "typescript":
                self.assertIn("ARGUMENTS_INVALID", ran.stderr)

    def test_the_python_caller_lists_the_tools(self):
        ran = subprocess.run(command(CALLERS["python"][:3], address=self.daemon.agent), capture_output=True,
                             text=True, timeout=harness.PATIENCE, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertLessEqual({"echo", "py__add"}, {line.split()[0] for line in ran.stdout.splitlines()})

    def test_the_python_examples_are_short(self):
        for name in ("worker.py", "caller.py", "approver.py"):
            self.assertLess(len((EXAMPLES / "python" / name).read_text().splitlines()), 80, name)


class Approver(unittest.TestCase):
    """The hook in Python, with the test as the person at the desk."""

    def ask(self, daemon, tool, arguments):
        return daemon.tools.CallTool.future(pb.CallToolRequest(name=tool, arguments_json=arguments),
                                            timeout=harness.PATIENCE)

    def test_a_person_decides_about_dangerous_calls(self):
        harness.require(self, "python")
        with harness.Daemon({"tools": [{"name": "echo", "risk": "dangerous"}]}) as daemon:
            hook = subprocess.Popen([sys.executable, EXAMPLES / "python" / "approver.py", daemon.control],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.addCleanup(hook.wait)
            self.addCleanup(hook.kill)
            self.assertEqual(hook.stdout.readline(), "attached\n")
            for said, allowed in (("y", True), ("n", False)):
                call = self.ask(daemon, "echo", '{"text": "drop it all"}')
                asked = ""
                while "Allow it?" not in asked:
                    asked += hook.stdout.readline()
                self.assertIn("echo", asked)
                self.assertIn("drop it all", asked)
                hook.stdin.write(said + "\n")
                hook.stdin.flush()
                if allowed:
                    self.assertEqual(call.result().result.content[0].text.text, "drop it all")
                    continue
                error = call.exception()
                self.assertEqual(error.code(), grpc.StatusCode.PERMISSION_DENIED)
                self.assertIn("a person said no", error.details())
            # What is not dangerous needs nobody.
            self.assertIn("4", str(self.ask(daemon, "calculator", '{"expression": "2+2"}').result().result))


if __name__ == "__main__":
    unittest.main()
