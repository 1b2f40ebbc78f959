#!/bin/sh
# Fails where this work tree causes more GPU time than the commit that it is based on.
#
#   perf-gate.sh BASE BUILD COMMAND [ARGUMENTS...]
#   perf-gate.sh origin/main 'make -s' ./app --steps 100
#
# BUILD makes the program, and COMMAND runs it, each in a work tree of the one commit and of the other. Both are recorded
# in turns on this machine, so that what drifts falls on both. Exit status: 0 pass, 1 regression, 125 cannot tell, which
# is no pass: raise RUNS or make a run longer. 125 is also a commit that is not there or cannot be built: `git bisect run`
# skips it. RUNS (8): of each side; GPUPROF: the program; CHECK_OPTIONS: more of them.
set -eu

cannot() {
  echo "perf-gate: $1" >&2
  exit 125
}

# In the background, as a shell takes a signal only between commands in front, and they may take long.
child=''
run() {
  "$@" &
  child=$!
  status=0
  wait "$child" || status=$?
  child=''
  return "$status"
}

work=''
clean_up() {
  trap '' HUP INT TERM
  if [ -n "$child" ]; then
    kill -TERM "$child" 2>/dev/null || true
    wait "$child" || true
  fi
  if [ -n "$work" ]; then
    git -C "$here" worktree remove --force --force "$work/base" 2>/dev/null || true
    rm -rf "$work"
  fi
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

in_folder() {
  cd "$1" && shift && exec "$@"
}

if [ $# -lt 3 ]; then
  echo "usage: perf-gate.sh BASE BUILD COMMAND [ARGUMENTS...]" >&2
  exit 2
fi
base=$1
build=$2
shift 2
gpuprof=${GPUPROF:-gpuprof}
command -v "$gpuprof" >/dev/null || cannot "there is no $gpuprof: put it into PATH, or name it in GPUPROF"
here=$(git rev-parse --show-toplevel) || cannot "this is no git repository"
new_commit=$(git -C "$here" rev-parse --verify --quiet HEAD) || cannot "nothing is committed here"
old_commit=$(git -C "$here" rev-parse --verify --quiet "$base^{commit}") || cannot "there is no commit $base"
work=$(mktemp -d) || cannot "no temporary folder can be made"

run git -C "$here" worktree add --quiet --detach "$work/base" "$old_commit" || cannot "$base cannot be checked out"
run in_folder "$work/base" sh -c "$build" || cannot "$base cannot be built"
run in_folder "$here" sh -c "$build" || cannot "this work tree cannot be built"

# shellcheck disable=SC2016 # expanded by the shell that it is for
there='cd "$0" && exec "$@"'
# shellcheck disable=SC2086 # options are words
run "$gpuprof" check --runs "${RUNS:-8}" --old-commit "$old_commit" --commit "$new_commit" -o "$here/gpuprof-check" \
  --markdown "$here/gpuprof-check.md" --junit "$here/gpuprof-check.xml" \
  ${GITHUB_ACTIONS:+--annotations} ${CHECK_OPTIONS:-} \
  -- sh -c "$there" "$work/base" "$@" --- sh -c "$there" "$here" "$@"
