#!/usr/bin/env bash
# usage: check.sh NAME: one rule of the house over the sources. Exit 77 when its tool is not here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$here/../.." && pwd)
cd "$ROOT"
rooms=(client proto registry renderers server tests)

skip() {
  echo "skipped: $*"
  exit 77
}
need() { command -v "$1" >/dev/null 2>&1 || skip "$1 is not here (./test lint installs it)"; }
sources() { find "${rooms[@]}" -type f \( -name '*.cc' -o -name '*.h' \) | sort; }
# All files that belong to the project: what git tracks or would track.
files() { git ls-files --cached --others --exclude-standard | while read -r file; do if [ -f "$file" ]; then echo "$file"; fi; done; }
# fail_if_any TEXT: lines on stdin are faults.
fail_if_any() {
  local found
  found=$(cat)
  if [ -n "$found" ]; then
    printf '%s:\n%s\n' "$1" "$found"
    exit 1
  fi
}

case ${1:?which rule} in
  format)
    need clang-format-14
    sources | xargs clang-format-14 --dry-run -Werror
    ;;
  protos)
    buf=$ROOT/build/tools/node/node_modules/.bin/buf
    [ -x "$buf" ] || skip "buf is not here (./test lint gets it from npm)"
    "$buf" lint proto
    ;;
  tidy)
    need clang-tidy-14
    # The core; the other rooms cost as much again, and their headers are mostly of gRPC.
    find registry -type f -name '*.cc' | sort |
      xargs -P "$(nproc)" -n 4 clang-tidy-14 -p build/release --quiet 2> >(grep -v 'warnings generated' >&2)
    ;;
  scripts)
    need shellcheck
    # shellcheck disable=SC2016
    files | xargs awk 'FNR == 1 && /^#!.*[\/ ](ba)?sh$|shellcheck shell=/ { print FILENAME }' |
      xargs shellcheck --external-sources --source-path="$ROOT"
    ;;
  includes)
    python3 "$here/includes.py" "$ROOT"
    ;;
  lengths)
    files | grep -E '\.(cc|h|proto|py|go|js|mjs|ts|sh)$' | xargs wc -l | awk '
      { limit = $2 ~ /^tests\// ? 800 : 500 }
      $2 != "total" && $1 > limit { print "  " $2 ": " $1 " lines" }' |
      fail_if_any 'files of more than 500 lines (800 in tests/); each likely holds two ideas'
    ;;
  paths)
    # Folders of somebody's machine; what a container image or a package has is fine.
    # shellcheck disable=SC2016
    files | grep -vE '\.(lock|png)$' |
      xargs awk '/(^|[^A-Za-z0-9_.-])\/(home|Users|work|mnt)\/[A-Za-z.]/ { print "  " FILENAME ":" FNR ": " $0 }' |
      fail_if_any 'paths of a machine'
    ;;
  root)
    files | cut -d/ -f1 | sort -u | awk '
      BEGIN {
        split("client deploy proto registry renderers server tests run test .ci .clang-format .clang-tidy " \
              ".dockerignore .gitignore CHANGELOG.md CMakeLists.txt CMakePresets.json CONTRIBUTING.md Dockerfile " \
              "LICENSE README.md", names, " ")
        for (i in names) known[names[i]] = 1
      }
      !($0 in known) { print "  " $0 }' |
      fail_if_any 'not of the house, at the root'
    ;;
  *)
    echo "no such rule: $1" >&2
    exit 2
    ;;
esac
