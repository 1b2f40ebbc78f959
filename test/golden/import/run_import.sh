#!/bin/sh
# run_import.sh GPUPROF FOLDER: imports each file of the folder and compares standard output, standard error and the
# exit status with NAME.expected. Then compares the dialects with each other. UPDATE=1 writes the expected files.
set -u
gpuprof=$1
cd "$2" || exit 1
actual=$(mktemp -d) || exit 1
trap 'rm -rf "$actual"' EXIT
failed=0
compare() { # EXPECTED
  [ "${UPDATE:-0}" = 1 ] && cp "$actual/result" "$1"
  diff -u "$1" "$actual/result" || failed=1
}
for file in *.txt; do
  [ "$file" = CMakeLists.txt ] && continue
  "$gpuprof" import "$file" > "$actual/out" 2> "$actual/err" < /dev/null
  status=$?
  { cat "$actual/out"; echo "--- standard error"; cat "$actual/err"; echo "--- exit status $status"; } > "$actual/result"
  compare "${file%.txt}.expected"
done

# Prints the rows of an import without ids and times, so that rows of the tool's dialects can be compared.
rows() { # FILE
  "$gpuprof" dump "$1" 2> /dev/null | grep -E '^(ustack|process|work|gpu_module|gpu_place|eustall) ' |
    sed -E 's/\b(id|module|slice|ustack|work|place|process)=[0-9]+ ?//g' | sort
}
for dialect in whole_lines texts states counts semicolons; do
  "$gpuprof" import -q -o "$actual/$dialect.txt" $dialect.txt || failed=1
  rows "$actual/$dialect.txt" > "$actual/$dialect.rows"
  diff -u "$actual/whole_lines.rows" "$actual/$dialect.rows" || { echo "$dialect: other rows"; failed=1; }
  "$gpuprof" import --folded "$dialect.txt" > "$actual/result" 2> /dev/null || failed=1
  compare iaprof.folded
  "$gpuprof" flame -q "$actual/$dialect.txt" > "$actual/result" || failed=1
  compare flame.folded
  "$gpuprof" import -q - < "$dialect.txt" | cmp - "$actual/$dialect.txt" || { echo "$dialect: other by a pipe"; failed=1; }
done
for dialect in states counts; do
  "$gpuprof" flame -q --from 10ms "$actual/$dialect.txt" > "$actual/result" || failed=1
  compare window.folded
done
[ "$(wc -l < "$actual/whole_lines.rows")" -gt 10 ] || { echo "no rows to compare"; failed=1; }
exit $failed
