#!/usr/bin/env bash
# The Kubernetes manifests against the types of the API, the compose file against compose itself.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
checkers=$root/build/tools/node
if [ ! -d "$checkers/node_modules/kubernetes-types" ]; then
  echo 'skipped: the checkers are not here (./test deploy gets them from npm)'
  exit 77
fi
node "$here/manifests.mjs" "$checkers" "$root"/deploy/kubernetes/*.yaml
if ! command -v docker-compose >/dev/null; then
  echo 'skipped: docker-compose is not here (./test deploy installs it)'
  exit 77
fi
docker-compose -f "$root/deploy/compose.yaml" config --quiet
echo 'deploy/compose.yaml is right'
