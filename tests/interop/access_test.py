"""What whoever runs the rack does about access, with the command `toolrack` against the real daemon: tokens, rules,
approvals, pinned definitions, the audit log, a new configuration."""
import hashlib
import json
import os
import signal
import subprocess
import unittest

import harness
from toolrack.v1 import tool_pb2

TOKEN = "a token of the tests"


def config(folder, **more):
    return {
        "principals": [{"name": "agent", "token_sha256": [hashlib.sha256(TOKEN.encode()).hexdigest()]}],
        "policy": {"rules": [{"name": "ask before danger", "risks": ["dangerous"], "action": "ask"},
                             {"name": "no naps", "tools": ["sleep"], "principals": ["agent"], "action": "deny"}]},
        "audit": {"file": str(folder / "audit.jsonl")}, **more}


class Access(unittest.TestCase):
    """One daemon for each test: what they change, they change for all."""

    def setUp(self):
        self.folder = harness.tempfile.TemporaryDirectory(prefix="toolrack-access-", dir="/tmp")
        self.addCleanup(self.folder.cleanup)
        self.audit = harness.pathlib.Path(self.folder.name) / "audit.jsonl"
        self.daemon = harness.Daemon(config(harness.pathlib.Path(self.folder.name), pinning="enforce"))
        self.daemon.__enter__()
        self.addCleanup(self.daemon.__exit__, None, None, None)
        self.worker = harness.Worker(self.daemon.channels["worker"], "w")
        self.addCleanup(self.worker.close)
        self.wipe = tool_pb2.Tool(name="wipe", description="Wipes.", input_schema='{"type": "object"}',
                                  annotations=tool_pb2.ToolAnnotations(destructive=True))
        self.worker.publish({"demo": [self.wipe]})

    def run_cli(self, *arguments, code=0, token=None):
        more = ("--token-file", self.token_file(token)) if token else ()
        ran = self.daemon.cli(*arguments, *more)
        self.assertEqual(ran.returncode, code, ran.stderr.decode())
        return ran.stdout.decode(), ran.stderr.decode()

    def token_file(self, token):
        path = harness.pathlib.Path(self.folder.name) / "token"
        path.write_text(token + "\n")
        path.chmod(0o600)
        return str(path)

    def asked(self, *arguments):
        """Calls, is refused, and gives the approval's id."""
        _, error = self.run_cli("call", "demo__wipe", *arguments, code=5)
        self.assertIn("APPROVAL_REQUIRED", error)
        listed = json.loads(self.run_cli("approvals", "--json")[0])["approvals"]
        return listed[-1]["approval_id"]

    def test_an_approval_is_asked_for_granted_and_used_once(self):
        approval = self.asked("a:=1")
        self.assertIn("pending", self.run_cli("approvals")[0])
        self.run_cli("call", "demo__wipe", "a:=1", "--approval", approval, code=5)
        shown, _ = self.run_cli("approve", approval)
        self.assertIn("granted: demo__wipe", shown)
        self.run_cli("call", "demo__wipe", "a:=2", "--approval", approval, code=3)  # not what was looked at
        self.run_cli("call", "demo__wipe", "a:=1", "--approval", approval)
        _, error = self.run_cli("call", "demo__wipe", "a:=1", "--approval", approval, code=5)
        self.assertIn("APPROVAL_EXPIRED", error)
        self.assertEqual(len(self.worker.calls), 1)

    def test_a_no_reaches_the_caller_with_its_reason(self):
        approval = self.asked()
        self.run_cli("deny", approval, "--note", "not on a Friday")
        _, error = self.run_cli("call", "demo__wipe", "--approval", approval, code=5)
        self.assertIn("not on a Friday", error)
        self.run_cli("approve", "nothing", code=5)
        self.assertEqual(self.worker.calls, {})

    def test_a_token_decides_who_it_is_and_what_is_there(self):
        listed, _ = self.run_cli("list")
        self.assertIn("\nsleep ", listed)
        listed, _ = self.run_cli("list", token=TOKEN)
        self.assertNotIn("\nsleep ", listed)
        _, error = self.run_cli("call", "sleep", "seconds:=0", code=5, token=TOKEN)
        self.assertIn("no naps", error)
        ran = self.daemon.cli("list", "--token-file", self.token_file("wrong"))
        self.assertEqual(ran.returncode, 5)
        self.assertIn(b"TOKEN_INVALID", ran.stderr)
        made = json.loads(self.run_cli("token", "--json")[0])
        self.assertEqual(hashlib.sha256(made["token"].encode()).hexdigest(), made["token_sha256"])

    def test_a_changed_definition_waits_for_a_yes(self):
        self.wipe.description = "Wipes everything."
        self.worker.publish({"demo": [self.wipe]})
        _, error = self.run_cli("call", "demo__wipe", code=5)
        self.assertIn("TOOL_QUARANTINED", error)
        digest = json.loads(self.run_cli("describe", "demo__wipe", "--json")[0])["digest"]
        self.run_cli("approve-tool", "demo__wipe", "--digest", "0" * 64, code=5)
        self.run_cli("approve-tool", "demo__wipe", "--digest", digest)
        self.asked()  # it may be called again, by the rules

    def test_the_audit_log_tells_who_called_what(self):
        self.run_cli("call", "echo", "text=secret words", "--call-id", "first")
        self.run_cli("call", "nothing", "--call-id", "second", code=4)
        self.run_cli("call", "echo", "text=x", "--call-id", "third", token=TOKEN)
        records = self.records(3)
        self.assertEqual([(r["call_id"], r["outcome"], r["principal"]) for r in records],
                         [("first", "ok", f"uid:{os.getuid()}"), ("second", "TOOL_NOT_FOUND", f"uid:{os.getuid()}"),
                          ("third", "ok", "agent")])
        self.assertEqual(records[0]["arguments_sha256"], hashlib.sha256(b'{"text":"secret words"}').hexdigest())
        self.assertNotIn("secret", self.audit.read_text())
        shown, _ = self.run_cli("audit", "--principal", "agent")
        self.assertRegex(shown, r"^\S+Z +ok +echo +agent +\d+us +third\n$")
        shown, _ = self.run_cli("audit", "-n", "1", "--outcome", "TOOL_*", "--json")
        self.assertEqual(json.loads(shown)["call_id"], "second")
        self.assertEqual(self.run_cli("audit", "--tool", "e*", "-n", "1", "--json")[0].count("\n"), 1)
        self.assertIn(f"audit:     {self.audit}\n", self.run_cli("status")[0])
        self.run_cli("audit", "--file", "/nonexistent", code=5)

    def records(self, count):
        """The lines of the log, once there are so many: a thread of its own writes them."""
        while True:  # bounded by the test's own time limit
            lines = self.audit.read_text().splitlines()
            if len(lines) >= count:
                return [json.loads(line) for line in lines]

    def test_a_log_that_is_followed_is_followed_through_a_rotation(self):
        self.run_cli("call", "echo", "text=x", "--call-id", "before")
        self.records(1)
        process = subprocess.Popen([harness.BIN / "toolrack", "--runtime-dir", self.daemon.folder, "audit", "--follow",
                                    "--json"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.assertEqual(json.loads(process.stdout.readline())["call_id"], "before")
        self.run_cli("call", "echo", "text=x", "--call-id", "while")
        self.assertEqual(json.loads(process.stdout.readline())["call_id"], "while")
        self.audit.rename(str(self.audit) + ".1")
        self.daemon.process.send_signal(signal.SIGHUP)
        while not self.audit.exists():
            pass
        self.run_cli("call", "echo", "text=x", "--call-id", "after")
        self.assertEqual(json.loads(process.stdout.readline())["call_id"], "after")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(harness.PATIENCE), 0)
        process.stdout.close()

    def test_a_log_of_many_lines_is_read_from_its_end(self):
        many = harness.pathlib.Path(self.folder.name) / "many"
        with many.open("w") as file:
            for number in range(20000):
                file.write(json.dumps({"call_id": str(number), "tool": f"t{number % 7}", "outcome": "ok" * 10}) + "\n")
            file.write('{"call_id": "half')
        shown, _ = self.run_cli("audit", "--file", str(many), "-n", "3", "--json")
        self.assertEqual([json.loads(line)["call_id"] for line in shown.splitlines()], ["19997", "19998", "19999"])
        shown, _ = self.run_cli("audit", "--file", str(many), "--tool", "t0", "-n", "100000", "--json")
        self.assertEqual([json.loads(line)["call_id"] for line in shown.splitlines()],
                         [str(n) for n in range(0, 20000, 7)])

    @staticmethod
    def snapshot(events):
        seen = set()
        for event in events:
            if "synced" in event:
                break
            if "added" in event:
                seen.add(event["added"]["name"])
        return seen

    def test_new_rules_hold_without_a_restart(self):
        self.run_cli("call", "sleep", "seconds:=0")
        watch = subprocess.Popen([harness.BIN / "toolrack", "--runtime-dir", self.daemon.folder, "watch", "--json"],
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(watch.kill)
        events = (json.loads(line) for line in watch.stdout)
        self.assertIn("sleep", self.snapshot(events))
        new = config(harness.pathlib.Path(self.folder.name), pinning="enforce", drain_grace="1s")
        new["policy"]["rules"][1]["principals"] = []
        (self.daemon.folder / "config.json").write_text(json.dumps(new))
        self.assertEqual(self.run_cli("reload", "--check")[0],
                         "holds now      policy.rules\nneeds restart  drain_grace\n")
        self.run_cli("call", "sleep", "seconds:=0")
        self.run_cli("reload")
        _, error = self.run_cli("call", "sleep", "seconds:=0", code=5)
        self.assertIn("no naps", error)
        seen = self.snapshot(events)  # the command goes on by itself, from a whole one
        self.assertIn("echo", seen)
        self.assertNotIn("sleep", seen)
        watch.send_signal(signal.SIGINT)
        watch.wait(harness.PATIENCE)
        watch.stdout.close()
        (self.daemon.folder / "config.json").write_text("{")
        _, error = self.run_cli("reload", code=5)
        self.assertIn("CONFIG_INVALID", error)


if __name__ == "__main__":
    unittest.main()
