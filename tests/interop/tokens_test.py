"""Token counts with the real ranks of o200k_base: the same as another implementation's for every text, and how far off
the estimate is.
"""
import json
import pathlib
import random
import subprocess
import tempfile
import unittest

import harness

# Where scripts, cases, numbers, blanks, contractions and signs meet.
PIECES = ["a", "Z", "é", "ß", "Ж", "日本", "ー", "ا", "ñ\u0303", "0", "12", "½", "Ⅷ", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000",
          "'s", "'LL", "'", "\"", "{", "}", "_", "-", "/", "//\n", "<", ">", "|", "\\n", "👍🏽", "🇩🇪", "\u200d", "camelCase", "HTTPServer",
          "the ", " of", "https://", "ǅ", "ʰ", "\u0301", "…", "。", "x" * 300, "-" * 200, "ab" * 150, " " * 90, "\n" * 40]


def texts():
    for line in open(harness.SHARED / "data" / "real_tools.jsonl", encoding="utf-8"):
        tool = json.loads(line)
        yield tool.get("description") or ""
        yield json.dumps(tool.get("inputSchema"), ensure_ascii=False)
    rng = random.Random(7)
    for _ in range(6000):
        yield "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 30)))
    for _ in range(2000):
        # Any characters but surrogates, and the two of which JavaScript's and Unicode's blanks differ.
        points = [rng.choice([rng.randrange(0x20, 0x250), rng.randrange(0x250, 0x3000), rng.randrange(0x3000, 0xD800),
                              rng.randrange(0x1F300, 0x1F900)]) for _ in range(rng.randint(1, 20))]
        yield "".join(chr(point) for point in points if point != 0x85)


class Tokens(unittest.TestCase):
    def test_counts_are_those_of_another_implementation(self):
        harness.require(self, "oracles")
        oracles = harness.CACHE / "oracles"
        cases = list(texts())
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "texts.jsonl"
            file.write_text("".join(json.dumps(text, ensure_ascii=False) + "\n" for text in cases), encoding="utf-8")
            theirs = subprocess.run(["node", "o200k.mjs", file], cwd=oracles, capture_output=True, text=True,
                                    timeout=harness.PATIENCE, check=True).stdout.split()
            with open(file, encoding="utf-8") as text:
                ours = subprocess.run(
                    [harness.BIN / "token_counts", oracles / "node_modules/gpt-tokenizer/data/o200k_base.tiktoken"],
                    stdin=text, capture_output=True, text=True, timeout=harness.PATIENCE, check=True).stdout.splitlines()
        self.assertEqual((len(ours), len(theirs)), (len(cases), len(cases)))
        exact = estimated = 0
        apart = []
        for case, mine, other in zip(cases, ours, theirs):
            count, estimate = (int(number) for number in mine.split())
            if count != int(other):
                apart.append((case, count, int(other)))
            exact += count
            estimated += estimate
        print(f"{len(cases)} texts, {exact} tokens, estimate {estimated / exact:.3f} of them", flush=True)
        # A newer Unicode may know characters that ours does not: none of the tools' own texts, and few of the made ones.
        tools = len(cases) - 8000
        self.assertEqual([case for case in apart if case[0] in cases[:tools]], [])
        self.assertLess(len(apart), 40, apart[:5])
        self.assertLess(abs(estimated / exact - 1), 0.25)


if __name__ == "__main__":
    unittest.main()
