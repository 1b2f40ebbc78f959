#!/usr/bin/env bash
# Fuzzes for hours, all targets in turn: test/fuzz/long.sh HOURS [FOLDER]
# FOLDER (default: build-fuzz/long) keeps the corpus of each target between runs. Failing inputs are in FOLDER/crashes.
# Build first: cmake --preset fuzz && cmake --build --preset fuzz
# Exit status: 0, or 1 if an input failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ $# -lt 1 || ! $1 =~ ^[0-9]+(\.[0-9]+)?$ ]]; then
  sed -n '2,5s/^# //p' "$0" >&2
  exit 2
fi
readonly SECONDS_LEFT=$(awk -v hours="$1" 'BEGIN { print int(hours * 3600) }')
readonly FOLDER=${2:-build-fuzz/long}
readonly PROGRAMS=${GPUPROF_FUZZ_PROGRAMS:-build-fuzz/test/fuzz}
readonly TURN=${GPUPROF_FUZZ_TURN:-900}  # seconds that a target runs before the next one starts
readonly END=$((SECONDS + SECONDS_LEFT))

mapfile -t targets < <(find "$PROGRAMS" -maxdepth 1 -type f -name 'fuzz_*' -perm -u+x | sort)
if [[ ${#targets[@]} -eq 0 ]]; then
  echo "no fuzz targets in $PROGRAMS" >&2
  exit 2
fi
mkdir -p "$FOLDER/crashes"

# Replaces the corpus by the smallest set of inputs with the same coverage.
minimise() {
  local program=$1 corpus=$2
  rm -rf "$corpus.new"
  mkdir "$corpus.new"
  "$program" -merge=1 -rss_limit_mb=2048 -timeout=10 "$corpus.new" "$corpus" >"$corpus.merge.log" 2>&1 || return 0
  rm -rf "$corpus"
  mv "$corpus.new" "$corpus"
}

take_turn() {
  local program=$1 seconds=$2 name=${1##*/fuzz_}
  local corpus=$FOLDER/$name seeds=()
  mkdir -p "$corpus"
  if [[ -d test/fuzz/corpus/$name ]]; then seeds+=("test/fuzz/corpus/$name"); fi
  "$program" -max_total_time="$seconds" -entropic=0 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$FOLDER/crashes/$name-" "$corpus" "${seeds[@]}" >"$FOLDER/$name.log" 2>&1 ||
    { echo "$name: failed, see $FOLDER/$name.log"; cp "$FOLDER/$name.log" "$FOLDER/crashes/$name-$(date +%s).log"; }
  minimise "$program" "$corpus"
  printf '%s: %s a second, %s inputs kept\n' "$name" \
    "$(sed -n 's/^stat::average_exec_per_sec: *//p' "$FOLDER/$name.log")" "$(find "$corpus" -type f | wc -l)"
}

while [[ $SECONDS -lt $END ]]; do
  for program in "${targets[@]}"; do
    left=$((END - SECONDS))
    if [[ $left -gt 0 ]]; then take_turn "$program" $((left < TURN ? left : TURN)); fi
  done
done

mapfile -t crashes < <(find "$FOLDER/crashes" -type f ! -name '*.log' | sort)
if [[ ${#crashes[@]} -gt 0 ]]; then
  printf 'failed with: %s\n' "${crashes[@]}"
  exit 1
fi
