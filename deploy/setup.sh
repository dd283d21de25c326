# shellcheck shell=bash
# Sourced by ./run, ./test and the scripts of the suite: the Debian packages of the project and how they are had, the
# build of one preset, and a line about each long step. The caller has set ROOT to the project's folder.
#
# A list in deploy/packages/ names one package a line; a second word is a command that makes the package unnecessary
# when it is there (a newer Node.js from elsewhere, say).

STEP_LOG_DIR=${STEP_LOG_DIR:-$ROOT/build/log}

say() { printf '\n==> %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# missing_packages LIST…: those that are not installed, one a line.
missing_packages() {
  local list package command
  for list in "$@"; do
    while read -r package command; do
      if [ -z "$package" ]; then continue; fi
      if [ -n "$command" ] && command -v "$command" >/dev/null 2>&1; then continue; fi
      if dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed; then continue; fi
      printf '%s\n' "$package"
    done <"$ROOT/deploy/packages/$list.txt"
  done | sort -u
}

# install_packages LIST…: fails when a package is missing and cannot be had.
install_packages() {
  local missing=() as_root=()
  mapfile -t missing < <(missing_packages "$@")
  if [ ${#missing[@]} -eq 0 ]; then return 0; fi
  command -v apt-get >/dev/null 2>&1 ||
    { echo "this needs Debian 12 or its packages: ${missing[*]}" >&2; return 1; }
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 ||
      { echo "run as root or install sudo, or install: ${missing[*]}" >&2; return 1; }
    as_root=(sudo)
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  step "Installing ${#missing[@]} Debian packages: ${missing[*]}" \
    install_with_apt "${missing[@]}"
}

install_with_apt() {
  "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "$@"
}

# step TEXT COMMAND…: runs it with its output in a file; on a terminal the last line of it runs along, elsewhere a line
# every half minute says that it goes on. On failure the end of the output is shown.
step() {
  local text=$1 log started=$SECONDS status=0 ticker
  shift
  mkdir -p "$STEP_LOG_DIR"
  log=$(mktemp "$STEP_LOG_DIR/step-XXXXXX")
  printf '==> %s\n' "$text"
  show_progress "$log" &
  ticker=$!
  "$@" >"$log" 2>&1 </dev/null || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  if [ -t 1 ]; then printf '\r\033[K'; fi
  if [ "$status" -ne 0 ]; then
    tail -n 60 "$log" >&2
    printf 'error: failed after %ds: %s (the whole output: %s)\n' $((SECONDS - started)) "$text" "$log" >&2
    return "$status"
  fi
  rm -f "$log"
  printf '    done in %ds\n' $((SECONDS - started))
}

show_progress() {
  local log=$1 started=$SECONDS pause=30 start='    ' end='\n'
  if [ -t 1 ]; then pause=1 start='\r\033[K    ' end=''; fi
  while sleep "$pause" && kill -0 $$ 2>/dev/null; do
    # shellcheck disable=SC2059  # the two are formats
    printf "$start%ds  %.90s$end" $((SECONDS - started)) "$(tail -n 1 "$log" | tr -d '\r')"
  done
}

# The compiler cache: paths relative to the project, so that another clone and the container build hit it too; inside
# build/ when the home folder cannot be written.
use_compiler_cache() {
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$ROOT} CCACHE_NOHASHDIR=1
  if [ -z "${CCACHE_DIR:-}" ]; then
    CCACHE_DIR=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/ccache
    if ! mkdir -p "$CCACHE_DIR" 2>/dev/null || ! touch "$CCACHE_DIR/.writable" 2>/dev/null; then
      CCACHE_DIR=$ROOT/build/ccache
    fi
    rm -f "$CCACHE_DIR/.writable"
    export CCACHE_DIR
  fi
}

# cache_dir: where things that outlive a clone are kept (the base image of the container test). Printed.
cache_dir() {
  local dir=${TOOLRACK_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/toolrack}
  if ! mkdir -p "$dir" 2>/dev/null || [ ! -w "$dir" ]; then
    dir=$ROOT/build/cache
    mkdir -p "$dir"
  fi
  printf '%s\n' "$dir"
}

# configure_preset PRESET [tests]: when needed; afterwards ninja itself sees changes. Without `tests` a fresh tree is made
# that can be built without the packages of the tests; with it such a tree gets them.
configure_preset() {
  local preset=$1 tests=OFF
  if [ "${2:-}" = tests ]; then tests=ON; fi
  if [ -f "$ROOT/build/$preset/build.ninja" ]; then
    if [ $tests = OFF ] || grep -q '^TOOLRACK_TESTS:BOOL=ON' "$ROOT/build/$preset/CMakeCache.txt"; then return 0; fi
  fi
  use_compiler_cache
  step "Configuring preset $preset" \
    under_lock "$preset" cmake --preset "$preset" -DTOOLRACK_TESTS=$tests
}

# build_preset PRESET TARGET…: of a configured tree.
build_preset() {
  local preset=$1
  shift
  use_compiler_cache
  NINJA_STATUS='[%f/%t] ' step "Building preset $preset: $*" \
    under_lock "$preset" ninja -C "build/$preset" -j "$(nproc)" "$@"
}

# under_lock PRESET COMMAND…: in the project's folder, one build of a preset at a time.
under_lock() {
  local preset=$1
  shift
  mkdir -p "$ROOT/build"
  (
    flock 9
    cd "$ROOT" && "$@"
  ) 9>"$ROOT/build/$preset.lock"
}
