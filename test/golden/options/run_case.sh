#!/bin/sh
# run_case.sh GPUPROF NAME [FOLDER]: runs the case NAME of FOLDER's `cases` (default: this folder). Compares standard
# output, standard error and the exit status with NAME.expected. UPDATE=1 writes that file; review the difference before
# you commit it.
set -u
gpuprof=$1
name=$2
cd "${3:-$(dirname "$0")}" || exit 1
actual=$(mktemp -d) || exit 1
trap 'rm -rf "$actual"' EXIT
arguments=$(sed -n "s/^$name  *//p" cases)
[ -n "$arguments" ] || { echo "there is no case $name"; exit 1; }
# shellcheck disable=SC2086 # a list of words
"$gpuprof" $arguments > "$actual/out" 2> "$actual/err" < /dev/null
status=$?
{
  case $arguments in
    *--svg* | *--time-series*) # compares the picture and its data; style and script are tested in a browser
      sed '/<style>/,/<\/style>/d; /<script>/,/<\/script>/d' "$actual/out" ;;
    *"--format pprof"*) # compares the content, as an independent reader of pprof files prints it
      [ ! -s "$actual/out" ] || PYTHONDONTWRITEBYTECODE=1 python3 ../../runtime/export/pprof_file.py < "$actual/out" ;;
    *"--format perfetto"*) # compares the content, as an independent reader of Perfetto traces prints it
      [ ! -s "$actual/out" ] || PYTHONDONTWRITEBYTECODE=1 python3 ../../runtime/export/perfetto_file.py < "$actual/out" ;;
    *) cat "$actual/out" ;;
  esac
  echo "--- standard error"
  cat "$actual/err"
  echo "--- exit status $status"
} > "$actual/result"
case $arguments in
  *--width* | *--full* | *--json* | flame* | export* | latency* | dump* | merge*) ;;
  report*) # one screen is 80 columns wide
    LC_ALL=C.UTF-8 grep -nE '^.{81}' "$actual/out" && { echo "$name: lines of more than 80 characters"; exit 1; } ;;
esac
if [ "${UPDATE:-0}" = 1 ]; then
  cp "$actual/result" "$name.expected"
fi
diff -u "$name.expected" "$actual/result"
