#!/usr/bin/env bash
# The checkers of package.json, in build/tools/node, at the versions of the lock file.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=$(cd "$here/../.." && pwd)/build/tools/node
mkdir -p "$tools"
if cmp -s "$here/package-lock.json" "$tools/.installed"; then exit 0; fi
cp "$here/package.json" "$here/package-lock.json" "$tools/"
cd "$tools"
npm_config_cache=${npm_config_cache:-$tools/.npm} npm ci --fetch-retries=2 --fetch-timeout=60000 --no-audit --no-fund --ignore-scripts
"$tools/node_modules/.bin/buf" --version
cp package-lock.json .installed
