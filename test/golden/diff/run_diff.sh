#!/bin/sh
# run_diff.sh GPUPROF NAME: compares the outputs of `gpuprof diff` for NAME.old.txt and NAME.new.txt with the expected
# files beside them. UPDATE=1 rewrites the expected files that exist; review the difference before you commit it.
set -u
gpuprof=$1
name=$2
actual=$(mktemp -d) || exit 1
trap 'rm -rf "$actual"' EXIT
cd "$(dirname "$0")" || exit 1
failed=0
compared=0

# compare SUFFIX OPTIONS...: compares standard output; for .stderr, compares standard error and the exit status.
compare() {
  expected=$name.$1
  [ -e "$expected" ] || return 0
  shift
  "$gpuprof" diff "$@" "$name.old.txt" "$name.new.txt" > "$actual/out" 2> "$actual/err" < /dev/null
  status=$?
  case $expected in
    *.stderr) { cat "$actual/err"; echo "exit status $status"; } > "$actual/result" ;;
    *.svg) # compares the picture and its data; style and script are tested in a browser
       sed '/<style>/,/<\/style>/d; /<script>/,/<\/script>/d' "$actual/out" > "$actual/result" ;;
    *) mv "$actual/out" "$actual/result"
       [ "$status" -eq 0 ] || { cat "$actual/err"; echo "$expected: exit status $status"; failed=1; } ;;
  esac
  if [ "${UPDATE:-0}" = 1 ]; then
    cp "$actual/result" "$expected"
  fi
  diff -u "$expected" "$actual/result" || failed=1
  compared=$((compared + 1))
}

compare text
compare wide --width 140 --full --top 0
compare filtered --path forward
compare markdown --markdown
compare json --json
compare folded --folded
compare svg --svg -
compare inverse.svg --svg - --inverse
compare stderr

if [ "$compared" -eq 0 ]; then
  echo "$name has nothing to compare with"
  exit 1
fi
exit $failed
