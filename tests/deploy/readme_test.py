"""What README.md and deploy/config.yaml say is what the daemon does.

usage: readme_test.py BIN_DIR

- Every line `$ COMMAND` of a ```console block runs, in order, against one fresh daemon; what it prints must be the lines
  that follow. `…` stands for any text in a line, and alone on a line for any lines. A command must end with status 0,
  unless its line shows the status itself.
- Every ```python block stands so in a file of client/examples/python.
- The table of limits names each setting of `limits` once, with its default; deploy/config.yaml names every setting that
  has a default, with that default, and the daemon starts with it.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAULTS = []


def fault(text):
    FAULTS.append(text)
    print("FAIL", text)


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def pattern(expected):
    """A regular expression for the expected lines."""
    lines = []
    for line in expected:
        if line.strip() == "…":
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(".*?".join(re.escape(part) for part in line.split("…")) + r"[ ]*\n")
    return re.compile("".join(lines) + r"\Z")


def commands(block):
    """(command, expected lines) of a block; a command goes on in the next line after a backslash."""
    found = []
    continued = False
    for line in block.splitlines():
        if continued:
            found[-1][0] += "\n" + line
        elif line.startswith("$ "):
            found.append([line[2:], []])
        elif found:
            found[-1][1].append(line)
        continued = line.endswith("\\") and (continued or line.startswith("$ "))
    return found


def without_trailing_empty(lines):
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


class Daemon:
    """toolrackd on sockets of its own."""

    def __init__(self, bin_dir, *arguments):
        self.folder = tempfile.mkdtemp(prefix="toolrack-readme-")
        self.environment = dict(os.environ, TOOLRACK_RUNTIME_DIR=self.folder, PATH=f"{bin_dir}:{os.environ['PATH']}",
                                COLUMNS="100")
        for name in ("TOOLRACK_ADDRESS", "XDG_RUNTIME_DIR"):
            self.environment.pop(name, None)
        self.log = open(os.path.join(self.folder, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen([f"{bin_dir}/toolrackd", "--runtime-dir", self.folder, *arguments],
                                        stderr=self.log, env=self.environment)

    def __enter__(self):
        for _ in range(200):
            if self.run("toolrack health --ready").returncode == 0:
                return self
            try:
                self.process.wait(timeout=0.05)
                break
            except subprocess.TimeoutExpired:
                pass
        self.log.seek(0)
        sys.exit("the daemon does not serve:\n" + self.log.read())

    def run(self, command):
        return subprocess.run(["bash", "-c", command], cwd=ROOT, env=self.environment, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def __exit__(self, *_):
        self.process.terminate()
        if self.process.wait(timeout=60) != 0:
            fault(f"the daemon ended with status {self.process.returncode}")
        self.log.close()
        shutil.rmtree(self.folder)


def check_commands(readme, bin_dir):
    count = 0
    with Daemon(bin_dir) as daemon:
        for block in blocks(readme, "console"):
            for command, expected in commands(block):
                count += 1
                result = daemon.run(command)
                expected = without_trailing_empty(expected)
                printed = without_trailing_empty(result.stdout.splitlines())
                if result.returncode != 0:
                    fault(f"`{command}` ends with status {result.returncode}:\n{result.stdout}")
                elif not pattern(expected).match("".join(line + "\n" for line in printed)):
                    fault(f"`{command}` prints\n{result.stdout}instead of\n" + "\n".join(expected))
    print(f"{count} commands of README.md ran")
    if count == 0:
        fault("README.md shows no command")


def check_python(readme):
    sources = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "client/examples/python").glob("*.py"))]
    for block in blocks(readme, "python"):
        if not any(block in source for source in sources):
            fault("a python block of README.md stands in no file of client/examples/python:\n" + block)


def settings():
    """Path and default of every setting, from the daemon's own table."""
    table = (ROOT / "server/config_fields.cc").read_text(encoding="utf-8")
    return dict(re.findall(r'^    \{"([a-z_.]+)",\s*"([^"]*)",', table, re.M))


def check_limits(readme, known):
    shown = dict(re.findall(r"^\| `(limits\.[a-z_]+)` \| ([^|]+?) \|", readme, re.M))
    wanted = {path: value or "none" for path, value in known.items() if path.startswith("limits.")}
    if not wanted:
        fault("no limit found in server/config_fields.cc")
    for path in sorted(shown.keys() | wanted.keys()):
        if shown.get(path) != wanted.get(path):
            fault(f"README.md says {path} is {shown.get(path)}, the daemon {wanted.get(path)}")


def check_config(known, bin_dir):
    example = ROOT / "deploy/config.yaml"
    said, path = {}, []
    for line in example.read_text(encoding="utf-8").splitlines():
        # What is commented out counts as well: entries of lists can be shown in no other way.
        match = re.match(r"( *(?:# )? *(?:- )?)([a-z_0-9]+):(?: +([^#]*?))?\s*(?:#.*)?$", line)
        if not match:
            continue
        indent, key, value = match.groups()
        depth = len(indent.replace("# ", ""))
        path = [part for part in path if part[0] < depth] + [(depth, key)]
        said.setdefault(".".join(part[1] for part in path), (value or "").strip('"'))
    for path, value in known.items():
        if value and said.get(path) != value:
            fault(f"deploy/config.yaml says {path} is {said.get(path)}, the default is {value}")
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "config.yaml"
        copy.write_bytes(example.read_bytes())
        copy.chmod(0o644)
        with Daemon(bin_dir, "--config", str(copy)):
            print("the daemon starts with deploy/config.yaml")


def main():
    bin_dir = os.path.abspath(sys.argv[1])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    known = settings()
    check_commands(readme, bin_dir)
    check_python(readme)
    check_limits(readme, known)
    check_config(known, bin_dir)
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
