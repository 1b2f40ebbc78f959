#!/bin/sh
# Fails where this work tree causes more GPU time than the commit that it is based on.
#
#   perf-gate.sh BASE BUILD COMMAND [ARGUMENTS...]
#   perf-gate.sh origin/main 'make -s' ./app --steps 100
#
# BUILD makes the program, and COMMAND runs it, each in a work tree of the one commit and of the other. Both are recorded
# in turns on this machine, so that what drifts falls on both. Exit status: 0 pass, 1 regression, 125 cannot tell, which
# is no pass: raise RUNS or make a run longer. RUNS (8): of each side; GPUPROF: the program; CHECK_OPTIONS: more of them.
set -eu

base=$1
build=$2
shift 2
here=$(git rev-parse --show-toplevel)
work=$(mktemp -d)
clean_up() {
  git -C "$here" worktree remove --force "$work/base" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT

git -C "$here" worktree add --quiet --detach "$work/base" "$base"
(cd "$work/base" && sh -c "$build")
(cd "$here" && sh -c "$build")

# shellcheck disable=SC2016 # expanded by the shell that it is for
in_folder='cd "$0" && exec "$@"'
# shellcheck disable=SC2086 # options are words
"${GPUPROF:-gpuprof}" check --runs "${RUNS:-8}" -o "$here/gpuprof-check" \
  --markdown "$here/gpuprof-check.md" --junit "$here/gpuprof-check.xml" \
  ${GITHUB_ACTIONS:+--annotations} ${CHECK_OPTIONS:-} \
  -- sh -c "$in_folder" "$work/base" "$@" --- sh -c "$in_folder" "$here" "$@"
