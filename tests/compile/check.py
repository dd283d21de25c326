#!/usr/bin/env python3
"""usage: check.py COMPILER INCLUDES SOURCE: INCLUDES is a list with semicolons. See typed_tool_probe.cc."""
import re
import subprocess
import sys

compiler, includes, source = sys.argv[1:]
command = [compiler, "-std=c++20", "-fsyntax-only", "-w", source]
command += [f"-I{folder}" for folder in includes.split(";") if folder]


def compiled(*more):
    done = subprocess.run(command + list(more), capture_output=True, text=True)
    return done.returncode, done.stderr


code, errors = compiled()
if code != 0:
    sys.exit(f"the good forms do not compile:\n{errors[-4000:]}")
code, errors = compiled("-DREFUSED")
if code == 0:
    sys.exit("the refused forms compile")
with open(source, encoding="utf-8") as file:
    cases = re.findall(r"// case: (.+)", file.read())
said = re.findall(r"error: static assertion failed: (toolrack: .+)", errors)
missing = [case for case in cases if not any(case in sentence for sentence in said)]
if missing or not cases:
    sys.exit(f"no sentence for: {missing}\nthe compiler said:\n" + "\n".join(said))
print(f"{len(cases)} forms are refused, each with its sentence")
