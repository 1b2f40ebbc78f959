#!/bin/sh
# Fails if this work tree causes more GPU time than its base commit.
#
#   perf-gate.sh BASE BUILD COMMAND [ARGUMENTS...]
#   perf-gate.sh origin/main 'make -s' ./app --steps 100
#
# BUILD builds the program and COMMAND runs it, in a work tree of each commit. The runs alternate on this machine, so
# that drift affects both commits. Exit status: 0 pass, 1 regression, 125 inconclusive. Inconclusive is not a pass:
# raise RUNS, or make the runs longer. The exit status is also 125 if a commit is missing or cannot be built, so that
# `git bisect run` skips the commit.
# Environment: RUNS (runs per commit, default: 8), GPUPROF (the gpuprof program), CHECK_OPTIONS (more options of check).
set -eu

cannot() {
  echo "perf-gate: $1" >&2
  exit 125
}

# Runs a command in the background. A shell handles signals only after a foreground command has ended, which may take
# long.
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
here=$(git rev-parse --show-toplevel) || cannot "this folder is not in a git repository"
new_commit=$(git -C "$here" rev-parse --verify --quiet HEAD) || cannot "nothing is committed here"
old_commit=$(git -C "$here" rev-parse --verify --quiet "$base^{commit}") || cannot "commit $base does not exist"
work=$(mktemp -d) || cannot "no temporary folder can be made"

run git -C "$here" worktree add --quiet --detach "$work/base" "$old_commit" || cannot "$base cannot be checked out"
run in_folder "$work/base" sh -c "$build" || cannot "$base cannot be built"
run in_folder "$here" sh -c "$build" || cannot "this work tree cannot be built"

# shellcheck disable=SC2016 # the inner shell expands it
there='cd "$0" && exec "$@"'
# shellcheck disable=SC2086 # CHECK_OPTIONS must be split into words
run "$gpuprof" check --runs "${RUNS:-8}" --old-commit "$old_commit" --commit "$new_commit" -o "$here/gpuprof-check" \
  --markdown "$here/gpuprof-check.md" --junit "$here/gpuprof-check.xml" \
  ${GITHUB_ACTIONS:+--annotations} ${CHECK_OPTIONS:-} \
  -- sh -c "$there" "$work/base" "$@" --- sh -c "$there" "$here" "$@"
