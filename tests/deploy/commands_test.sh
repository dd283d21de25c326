#!/usr/bin/env bash
# ./run as a user runs it: from another folder, with a home folder that cannot be written, twice, and ended by Ctrl-C.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset XDG_RUNTIME_DIR XDG_CACHE_HOME CCACHE_DIR
# No folder at all: root could write one that is only marked read-only.
export HOME=/dev/null

fail() {
  echo "FAIL $*"
  exit 1
}

"$root/run" --help | grep -q 'usage: ./run' || fail 'no help'
status=0
"$root/run" --no-such >/dev/null 2>&1 || status=$?
[ "$status" = 2 ] || fail "an unknown option gives status $status, not 2"

for _ in 1 2; do
  "$root/run" --tour >"$work/tour" 2>&1 || { cat "$work/tour"; fail 'the tour does not end with status 0'; }
done
grep -q 'toolrackd drained and ended with status 0' "$work/tour" || { cat "$work/tour"; fail 'no clean end'; }

# Without --tour it serves until Ctrl-C, which the terminal sends to the whole process group.
mkfifo "$work/output"
exec 7<>"$work/output"
setsid env --default-signal=INT "$root/run" >&7 2>&1 &
run=$!
grep -q -m 1 'Ctrl-C ends it' <&7
kill -INT -- "-$run"
status=0
wait "$run" || status=$?
[ "$status" = 0 ] || fail "Ctrl-C gives status $status, not 0"
echo 'the commands do what they say'
