#!/usr/bin/env bash
# Installs packages, builds, demonstrates and tests gpuprof. Debian 12 and Ubuntu 24.04, on x86-64 and arm64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly BUILD_DIR=${GPUPROF_BUILD_DIR:-build}
readonly JOBS=${GPUPROF_JOBS:-$(nproc)}

usage() {
  cat <<'TEXT'
usage: ./setup.sh COMMAND
  demo   install packages, build, record an OpenCL program on the CPU, print its report, draw its flame graph
  test   install packages, build, run all tests
  deps   install all packages
  build  build only, without installing packages
  cross  install what `cmake --preset release-aarch64` needs; arm64 packages go to GPUPROF_ROOT_AARCH64
environment: GPUPROF_BUILD_DIR (default: build), GPUPROF_JOBS (default: all cores)
  GPUPROF_ROOT_AARCH64 (default: ~/.cache/gpuprof/root-aarch64)
TEXT
}

say() { printf 'setup: %s\n' "$*"; }
die() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}

# A word is a package, or alternatives separated by '|': the first one that the distribution has is installed.
# A leading '?' marks an optional package: without it, tests that need it are skipped with a reason.
readonly BUILD_TOOLS="clang cmake ninja-build pkg-config"
readonly BUILD_LIBRARIES="
  libbpf-dev libelf-dev libdw-dev zlib1g-dev liblzma-dev libbz2-dev libzstd-dev libiberty-dev libsqlite3-dev libre2-dev
  libfmt-dev libcli11-dev nlohmann-json3-dev opencl-c-headers|opencl-headers ocl-icd-opencl-dev ?libze-dev|level-zero-dev"
readonly BUILD_PACKAGES="g++ $BUILD_TOOLS $BUILD_LIBRARIES"
readonly DEMO_PACKAGES="pocl-opencl-icd"
readonly TEST_PACKAGES="
  catch2 clang-format clang-tidy libclang-rt-dev|libclang-rt-18-dev|libclang-rt-14-dev
  python3 python3-numpy python3-jsonschema git ca-certificates procps util-linux
  ?python3-yaml ?make ?python3-pyopencl ?clpeak ?libdevel-nytprof-perl ?ccache ?binutils ?lld ?xz-utils ?libdebuginfod1|libdebuginfod1t64 ?python3-junitparser ?libxml2-utils ?golang-go ?sqlite3 ?libigc1|libigc2
  ?qemu-system-x86 ?busybox-static ?cpio ?pahole"

readonly CROSS_TOOLS="$BUILD_TOOLS g++-aarch64-linux-gnu qemu-user-static"
readonly CROSS_LIBRARIES="libstdc++-14-dev|libstdc++-13-dev|libstdc++-12-dev $BUILD_LIBRARIES catch2 $DEMO_PACKAGES
  base-files base-passwd bash coreutils dash diffutils findutils gawk git grep libc-bin procps sed util-linux binutils xz-utils
  python3 python3-numpy"

known() { [[ $(apt-cache policy "$1" 2>/dev/null) == *"Candidate: "[0-9]* ]]; }

installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  else
    sudo -- "$@"
  fi
}

# Prints each word of the list, such as "?a|b", if none of its alternatives is installed.
missing_of() {
  local word name
  for word in $1; do
    local found=
    for name in $(tr '|' ' ' <<<"${word#\?}"); do
      if installed "$name"; then found=1; fi
    done
    if [[ -z $found ]]; then echo "$word"; fi
  done
}

install_packages() {
  command -v dpkg-query >/dev/null || die "this is neither Debian nor Ubuntu: install the packages of BUILD_PACKAGES \
in setup.sh by hand, then run ./setup.sh build"
  local missing
  missing=$(missing_of "$*")
  if [[ -z $missing ]]; then return; fi
  # Missing optional packages must not fail without root rights.
  local required
  required=$(grep -v '^?' <<<"$missing" || true)
  if [[ $EUID -ne 0 ]] && ! command -v sudo >/dev/null; then
    if [[ -z $required ]]; then return; fi
    die "packages are missing, and sudo is not installed: run as root: apt-get install ${required//$'\n'/ }"
  fi
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o Acquire::Retries=3)
  say "reading the package lists"
  as_root "${apt[@]}" update </dev/null || die "apt-get update failed: check the lines above and the network"

  local word name chosen wanted=()
  for word in $missing; do
    chosen=
    for name in $(tr '|' ' ' <<<"${word#\?}"); do
      if [[ -z $chosen ]] && known "$name"; then chosen=$name; fi
    done
    if [[ -n $chosen ]]; then
      wanted+=("$chosen")
    elif [[ $word == \?* ]]; then
      say "left out: ${word#\?} (not in this distribution)"
    else
      die "no package ${word} in this distribution: Debian 12 and Ubuntu 24.04 have it (Ubuntu: enable 'universe')"
    fi
  done
  if [[ ${#wanted[@]} -eq 0 ]]; then return; fi
  say "installing ${wanted[*]}"
  as_root "${apt[@]}" install -y --no-install-recommends "${wanted[@]}" </dev/null >/dev/null ||
    die "apt-get install failed: check the lines above"
}

# Ubuntu's chromium packages only install a snap, which needs a running snapd. So the browser tests are skipped there.
browser_packages() {
  if grep -q '^ID=debian' /etc/os-release; then echo "?chromium ?chromium-driver"; fi
}

build() {
  local tests=$1
  shift
  command -v cmake >/dev/null || die "no cmake: run ./setup.sh deps"
  local options=(-DGPUPROF_TESTS="$tests" -DGPUPROF_WERROR="${GPUPROF_WERROR:-OFF}")
  if command -v ccache >/dev/null; then
    options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1  # so that clones share the cache
  fi
  say "building in $BUILD_DIR"
  cmake -G Ninja -S . -B "$BUILD_DIR" "${options[@]}" >"$BUILD_DIR.log" 2>&1 || {
    cat "$BUILD_DIR.log" >&2
    die "cmake failed"
  }
  sed -n '/^-- gpuprof /,/^-- /{/^-- [^g]/d;p}' "$BUILD_DIR.log"
  mv "$BUILD_DIR.log" "$BUILD_DIR/configure.log"
  cmake --build "$BUILD_DIR" -j "$JOBS" "$@" -- --quiet || die "the build failed: check the lines above"
}

demo() {
  install_packages "$BUILD_PACKAGES" "$DEMO_PACKAGES"
  build OFF --target gpuprof example_opencl
  local out
  out=$(realpath "$BUILD_DIR")/demo
  mkdir -p "$out"
  local record=("$BUILD_DIR/gpuprof" record -o "$out/gpuprof.txt")
  say "${record[*]} -- $BUILD_DIR/examples/opencl/example_opencl"
  "${record[@]}" -- "$BUILD_DIR/examples/opencl/example_opencl" </dev/null
  echo
  # awk reads all of the input, so that report does not get a closed pipe.
  "$BUILD_DIR/gpuprof" report -i "$out/gpuprof.txt" | awk 'NR <= 40'
  "$BUILD_DIR/gpuprof" flame -i "$out/gpuprof.txt" --svg "$out/flame.svg"
  echo
  say "flame graph (open it in a browser):"
  echo "$out/flame.svg"
}

# Prints why tests skipped something. ctest shows neither why a test was skipped nor what a passed test left out.
skip_reasons() {
  grep -hE "(: skip: | [.]{3} skipped '|^ *skipped[:,])" "$1" 2>/dev/null | sed -E 's/^ */setup: left out: /' || true
}

run_tests() {
  install_packages "$BUILD_PACKAGES" "$DEMO_PACKAGES" "$TEST_PACKAGES" "$(browser_packages)"
  build ON
  local status=0
  ctest --test-dir "$BUILD_DIR" --output-on-failure --no-tests=error -j "$JOBS" </dev/null || status=$?
  skip_reasons "$BUILD_DIR/Testing/Temporary/LastTest.log"
  return "$status"
}

install_cross() {
  install_packages "$CROSS_TOOLS"
  local root=${GPUPROF_ROOT_AARCH64:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuprof/root-aarch64}
  say "unpacking arm64 packages in $root"
  # shellcheck disable=SC2086  # a list of words
  scripts/root-aarch64 "$root" $CROSS_LIBRARIES
}

main() {
  case ${1:-} in
    demo | test | deps | build | cross) ;;
    -h | --help | help)
      usage
      return 0
      ;;
    '')
      usage >&2
      return 2
      ;;
    *)
      usage >&2
      printf 'setup: error: unknown command: %s\n' "$1" >&2
      return 2
      ;;
  esac
  say "needs root or sudo only to install packages; recording and its CPU stacks need no rights"
  case $1 in
    demo) demo ;;
    test) run_tests ;;
    deps) install_packages "$BUILD_PACKAGES" "$DEMO_PACKAGES" "$TEST_PACKAGES" "$(browser_packages)" ;;
    build) build ON ;;
    cross) install_cross ;;
  esac
}

main "$@"
