"""Who may include whom: each room includes only what the table says.

usage: includes.py ROOT

A room's row lists the prefixes of our own files and the outside headers that it must not touch. Also: an include of ours is
written from the root, and no file of the core includes a gRPC stub.
"""

import pathlib
import re
import sys

# Room (longest prefix wins): what it may include of ours.
ALLOWED = {
    "registry/base/": ["toolrack/v1/", "internal/", "registry/base/"],
    "registry/": ["toolrack/v1/", "registry/"],
    "renderers/": ["toolrack/v1/", "registry/base/", "renderers/"],
    "client/": ["toolrack/v1/", "internal/", "registry/base/", "registry/typed_tool.h", "client/"],
    "server/": ["toolrack/v1/", "internal/", "registry/", "renderers/", "server/", "src/proto/grpc/"],
}
# Outside headers by room: none of these.
FORBIDDEN = {
    "registry/": r"grpc|sys/socket\.h|sys/un\.h|netinet/|arpa/inet\.h",
    "renderers/": r"grpc|sys/socket\.h|mutex|absl/synchronization|absl/time/clock\.h|chrono",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)
OURS = ("registry/", "renderers/", "client/", "server/", "toolrack/v1/", "internal/", "tests/", "src/proto/")


def row(table, path):
    rooms = [room for room in table if path.startswith(room)]
    return table[max(rooms, key=len)] if rooms else None


def faults_of(path, text, exists):
    """Each fault of one file as text. `exists`: whether a path from the root is a file of ours."""
    found = []
    for quote, header in INCLUDE.findall(text):
        ours = header.startswith(OURS)
        if ours and not header.startswith(tuple(row(ALLOWED, path) or OURS)):
            found.append(f"{path} includes {header}, which its room may not")
        if not ours and row(FORBIDDEN, path) and re.search(row(FORBIDDEN, path), header):
            found.append(f"{path} includes {header}, which its room may not")
        if header.endswith(".grpc.pb.h") and path.startswith(("registry/", "renderers/")):
            found.append(f"{path} includes the stub {header}; the core includes .pb.h only")
        if not ours and quote == '"' and exists(str(pathlib.PurePosixPath(path).parent / header)):
            found.append(f"{path} includes {header} beside itself instead of from the root")
    return found


def own_test():
    """The check finds what it is for."""
    none = lambda _: False
    assert faults_of("registry/registry.h", '#include "server/rpc/peer.h"\n', none)
    assert faults_of("registry/base/json.cc", '#include "registry/tool.h"\n', none)
    assert faults_of("registry/call/pipeline.cc", "#include <grpcpp/grpcpp.h>\n", none)
    assert faults_of("registry/tool.h", '#include "toolrack/v1/tool_service.grpc.pb.h"\n', none)
    assert faults_of("client/client.cc", '#include "registry/registry.h"\n', none)
    assert faults_of("client/client.cc", '#include "server/server.h"\n', none)
    assert faults_of("server/main.cc", '#include "server.h"\n', lambda path: path == "server/server.h")
    assert not faults_of("server/main.cc", '#include "registry/registry.h"\n#include <grpcpp/grpcpp.h>\n', none)
    assert not faults_of("client/worker.h", '#include "registry/typed_tool.h"\n#include "registry/base/task.h"\n', none)


def main():
    root = pathlib.Path(sys.argv[1])
    own_test()
    found, count = [], 0
    for room in ("registry", "renderers", "client", "server"):
        for file in sorted((root / room).rglob("*")):
            if file.suffix in (".h", ".cc"):
                count += 1
                path = file.relative_to(root).as_posix()
                found += faults_of(path, file.read_text(encoding="utf-8"), lambda p: (root / p).is_file())
    print("\n".join(found) if found else f"{count} files include what they may")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
