"""Real tools' schemas and generated values: our verdict is the one on which two other validators agree.

Every fourth tool; TOOLRACK_DIFFERENTIAL=all takes all of them.
"""
import collections
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import harness
import jsonschema
import referencing.exceptions
from mutants import instances

EVERY = 1 if os.environ.get("TOOLRACK_DIFFERENTIAL") == "all" else 4
VALUES = 16
# Refused by name though others take them: one that is not linear-time.
REFUSED = {"getWorkspace": "refused unsupported_pattern /properties/include/pattern"}


def verdicts_of_jsonschema(schema, values):
    kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
        validator = kind(schema)
        return "".join("1" if validator.is_valid(value) else "0" for value in values)
    except (jsonschema.SchemaError, referencing.exceptions.Unresolvable, RecursionError):
        return "refused"


class Oracles(unittest.TestCase):
    def test_the_verdict_is_the_one_on_which_the_others_agree(self):
        harness.require(self, "oracles")
        cases = []
        with open(harness.SHARED / "data" / "real_tools.jsonl", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                tool = json.loads(line)
                for which in ("inputSchema", "outputSchema"):
                    if number % EVERY == 0 and tool.get(which) is not None:
                        schema = tool[which]
                        cases.append((tool["name"], schema, instances(schema, number, VALUES)))
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "cases.jsonl"
            file.write_text("".join(json.dumps({"schema": s, "instances": v}) + "\n" for _, s, v in cases))
            ajv = subprocess.Popen(["node", "ajv.mjs", file], cwd=harness.CACHE / "oracles", text=True,
                                   stdout=subprocess.PIPE)
            with open(file, encoding="utf-8") as text:
                ours = subprocess.run([harness.BIN / "schema_verdicts"], stdin=text, capture_output=True, text=True,
                                      timeout=harness.PATIENCE, check=True).stdout.splitlines()
            python = [verdicts_of_jsonschema(schema, values) for _, schema, values in cases]
            out, _ = ajv.communicate(timeout=harness.PATIENCE)
            self.assertEqual(ajv.returncode, 0)
        others = out.splitlines()
        self.assertEqual((len(ours), len(others)), (len(cases), len(cases)))
        seen = collections.Counter()
        for (name, schema, values), mine, one, two in zip(cases, ours, python, others):
            if mine.startswith("refused"):
                seen["refused"] += 1
                if "refused" not in (one, two):
                    self.assertEqual(mine, REFUSED.get(name), name)
                continue
            if "refused" in (one, two):
                seen["refused by another"] += 1
                continue
            for value, a, b, c in zip(values, mine, one, two):
                seen["apart" if b != c else "valid" if b == "1" else "invalid"] += 1
                if b == c:
                    self.assertEqual(a, b, f"{name}: {json.dumps(schema)} on {json.dumps(value)}")
        print(dict(seen), flush=True)
        self.assertGreater(seen["valid"], 2 * len(cases))
        self.assertGreater(seen["invalid"], 2 * len(cases))
        self.assertLess(seen["apart"], len(cases) // 10)
        self.assertLess(seen["refused"] + seen["refused by another"], 10)


if __name__ == "__main__":
    unittest.main()
