#!/usr/bin/env bash
# usage: run.sh asan|tsan FOLDER: the tests of one folder from the tree of that preset. Any report is a failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
binary=$root/build/$1/bin/$2_tests
if [ ! -x "$binary" ]; then
  echo "not built: $binary (./test $1 builds it)" >&2
  exit 1
fi
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=suppressions=$here/tsan.supp:halt_on_error=0:exitcode=66:second_deadlock_stack=1
runner=()
# ThreadSanitizer of these compilers cannot map its shadow under the widest address randomisation.
if [ "$1" = tsan ] && command -v setarch >/dev/null && setarch -R true 2>/dev/null; then runner=(setarch -R); fi
exec ${runner[@]+"${runner[@]}"} "$binary" --gtest_brief=1
