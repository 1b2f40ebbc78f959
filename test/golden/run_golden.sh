#!/bin/sh
# run_golden.sh GPUPROF PROFILE: compares gpuprof's outputs for a profile with the expected files beside it. UPDATE=1
# rewrites the expected files that exist; review the difference before you commit it.
set -u
gpuprof=$1
profile=$2
folder=$(dirname "$profile")
name=$(basename "$profile" .txt)
actual=$(mktemp -d) || exit 1
trap 'rm -rf "$actual"' EXIT
cd "$folder" || exit 1
failed=0
compared=0

# compare SUFFIX ARGUMENTS...: compares standard output; for .stderr, compares standard error and the exit status.
compare() {
  expected=$name.$1
  [ -e "$expected" ] || return 0
  shift
  "$gpuprof" "$@" "$name.txt" > "$actual/out" 2> "$actual/err" < /dev/null
  status=$?
  case $expected in
    *.stderr) { cat "$actual/err"; echo "exit status $status"; } > "$actual/result" ;;
    *.svg) # compares the picture and its data; style and script are tested in a browser
       sed '/<style>/,/<\/style>/d; /<script>/,/<\/script>/d' "$actual/out" > "$actual/result"
       [ "$status" -eq 0 ] || { cat "$actual/err"; echo "$expected: exit status $status"; failed=1; } ;;
    *) mv "$actual/out" "$actual/result"
       [ "$status" -eq 0 ] || { cat "$actual/err"; echo "$expected: exit status $status"; failed=1; } ;;
  esac
  if [ "${UPDATE:-0}" = 1 ]; then
    cp "$actual/result" "$expected"
  fi
  case $1$expected in
    report*.report) # one screen is 80 columns wide
      LC_ALL=C.UTF-8 grep -nE '^.{81}' "$actual/result" && { echo "$expected: lines of more than 80 characters"; failed=1; } ;;
  esac
  diff -u "$expected" "$actual/result" || failed=1
  compared=$((compared + 1))
}

compare folded flame
compare folded_ns flame --unit ns
compare folded_count flame --weight count
compare folded_samples flame --weight samples
compare folded_bytes flame --weight bytes
compare folded_lines flame --unit ns --lines
compare folded_lenient flame --unit ns --lenient
compare stderr flame
compare lenient.stderr flame --lenient
compare report.stderr report
compare coverage.stderr report --min-coverage 1
compare latency.stderr latency
compare report report
compare report_full report --full --top 0
compare json report --json
compare dump dump
compare raw dump --raw
compare svg flame --svg -

if [ "$compared" -eq 0 ]; then
  echo "$name.txt has nothing to compare with"
  exit 1
fi
exit $failed
