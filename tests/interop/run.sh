#!/usr/bin/env bash
# usage: run.sh NAME BIN_DIR: runs NAME_test.py against toolrackd and toolrack in BIN_DIR.
# Exit code 77: skipped, the reason is the last line. With CI=true a skip is a failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=${1:?which test}
bin=$(cd "${2:?where the programs are}" && pwd)
cache=${TOOLRACK_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/toolrack-test}

skip() {
  echo "skipped: $*"
  if [ "${CI:-}" = true ]; then exit 1; fi
  exit 77
}

for program in toolrackd toolrack; do
  [ -x "$bin/$program" ] || skip "$program is not built"
done
parts=(python stubs)
if [ "$name" = grpcurl ]; then parts+=(grpcurl); fi  # the others skip single tests when a part is not here
for part in "${parts[@]}"; do
  if [ ! -e "$cache/$part.key" ]; then
    skip "$part: $(cat "$cache/$part.missing" 2>/dev/null || echo 'tests/interop/setup.sh has not been run')"
  fi
done
shared=${TOOLRACK_SHARED:-$here/../../../shared}
if [ "$name" = suite ] && [ ! -e "$shared/data/json-schema-test-suite" ]; then
  skip "there is no data/json-schema-test-suite"
fi
if [ "$name" = oracles ] && [ ! -x "$bin/schema_verdicts" ]; then skip "schema_verdicts is not built"; fi
if [ "$name" = tokens ] && [ ! -x "$bin/token_counts" ]; then skip "token_counts is not built"; fi
if [[ $name = real_tools || $name = oracles || $name = tokens ]] && [ ! -e "$shared/data/real_tools.jsonl" ]; then skip "there is no data/real_tools.jsonl"; fi

export TOOLRACK_BIN=$bin TOOLRACK_TEST_CACHE=$cache TOOLRACK_SHARED=$shared
export PYTHONPATH=$here:$cache/stubs PYTHONDONTWRITEBYTECODE=1
exec "$cache/python/bin/python" -W error::ResourceWarning "$here/${name}_test.py" --verbose
