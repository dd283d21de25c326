#!/usr/bin/env bash
# Gets what the interop tests need, outside the source: a Python with grpcio and stubs, grpcurl, the Go and the
# TypeScript examples, a validator of JSON Schema to compare with. Quick when nothing changed. A part that cannot be had
# (no tool, no network) is left out with its reason in PART.missing: its tests are then skipped by that name, or fail when
# CI is set.
#
# usage: setup.sh [CACHE_DIR]     default: $TOOLRACK_TEST_CACHE, else ${XDG_CACHE_HOME:-~/.cache}/toolrack-test
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${1:-${TOOLRACK_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/toolrack-test}}
grpcurl_version=v1.9.4
protoc_gen_go_version=v1.36.12
protoc_gen_go_grpc_version=v1.6.2
protos=("$root"/proto/toolrack/v1/*.proto)
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9

# part NAME KEY_FILES...: runs install_NAME in a clean folder unless its last success had the same inputs.
part() {
  local name=$1; shift
  local key
  key=$( { declare -f "install_$name"; echo "$grpcurl_version $protoc_gen_go_version $protoc_gen_go_grpc_version"
           cat "$@"; } | sha256sum | cut -d' ' -f1)
  if [ "$(cat "$cache/$name.key" 2>/dev/null)" = "$key" ]; then return; fi
  rm -f "$cache/$name.key" "$cache/$name.missing"
  echo "interop: setting up $name"
  if ( set -e; "install_$name" ) >"$cache/$name.log" 2>&1; then
    echo "$key" >"$cache/$name.key"
  else
    grep . "$cache/$name.log" | tail -n 1 | cut -c1-300 >"$cache/$name.missing"
    [ -s "$cache/$name.missing" ] || echo "setting up $name failed" >"$cache/$name.missing"
    echo "interop: $name left out: $(cat "$cache/$name.missing")"
  fi
}

need() { command -v "$1" >/dev/null || { echo "$1 is not installed"; exit 1; }; }

install_python() {
  need python3
  rm -rf "$cache/python"
  python3 -m venv "$cache/python"
  "$cache/python/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
}

install_stubs() {
  [ -e "$cache/python.key" ] || { cat "$cache/python.missing"; exit 1; }
  rm -rf "$cache/stubs"
  mkdir -p "$cache/stubs"
  "$cache/python/bin/python" -m grpc_tools.protoc -I "$root/proto" --python_out="$cache/stubs" \
    --grpc_python_out="$cache/stubs" "${protos[@]}"
}

install_grpcurl() {
  need go
  GOBIN="$cache/bin" go install "github.com/fullstorydev/grpcurl/cmd/grpcurl@$grpcurl_version"
}

install_go() {
  need go
  need protoc
  GOBIN="$cache/bin" go install "google.golang.org/protobuf/cmd/protoc-gen-go@$protoc_gen_go_version"
  GOBIN="$cache/bin" go install "google.golang.org/grpc/cmd/protoc-gen-go-grpc@$protoc_gen_go_grpc_version"
  rm -rf "$cache/go"
  cp -r "$root/client/examples/go" "$cache/go"
  PATH="$cache/bin:$PATH" protoc -I "$root/proto" --experimental_allow_proto3_optional \
    --go_out="$cache/go" --go_opt=module=toolrack.dev/go \
    --go-grpc_out="$cache/go" --go-grpc_opt=module=toolrack.dev/go "${protos[@]}"
  cd "$cache/go"
  go vet ./worker ./caller
  go build -o "$cache/bin/go-worker" ./worker
  go build -o "$cache/bin/go-caller" ./caller
}

install_node() {
  need node
  need npm
  rm -rf "$cache/node"
  cp -r "$root/client/examples/typescript" "$cache/node"
  cd "$cache/node"
  npm ci --no-audit --no-fund --loglevel=error
  npm run --silent build
}

install_oracles() {
  need node
  need npm
  rm -rf "$cache/oracles"
  cp -r "$root/tests/conformance/oracles" "$cache/oracles"
  cd "$cache/oracles"
  npm ci --no-audit --no-fund --loglevel=error
}

part python "$here/requirements.txt"
part stubs "$here/requirements.txt" "${protos[@]}"
part grpcurl
part go "$root"/client/examples/go/{go.mod,go.sum} "$root"/client/examples/go/*/*.go "${protos[@]}"
part oracles "$root"/tests/conformance/oracles/*
part node "$root"/client/examples/typescript/*.{json,ts}
