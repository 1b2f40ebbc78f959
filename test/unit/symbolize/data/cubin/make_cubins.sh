#!/usr/bin/env bash
# Makes the cubins that cubin_lines_test.cpp reads: make_cubins.sh FOLDER. Needs nvcc and ptxas (CUDA 13.0).
# In the line tables, source files are named /source/..., wherever this script runs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: make_cubins.sh FOLDER}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/*.cu "$here"/*.h "$here"/*.ptx "$work"
cd "$work"

# ptx NAME ARCH FLAGS: compiles NAME.cu to NAME.ptx, without the folder and the time of the source file.
ptx() {
  nvcc -ptx -arch="$2" "${@:3}" -o "$1.ptx" "$1.cu"
  sed -i -E "s#^(\t?\.file\t[0-9]+ )\"$work/([^\"]*)\".*#\1\"/source/\2\"#" "$1.ptx"
}

for number in 80 90 100; do
  ptx inlined sm_$number -lineinfo
  ptxas -arch=sm_$number -lineinfo -o "$out/inlined.sm_$number.cubin" inlined.ptx
done
ptx inlined sm_90
ptxas -arch=sm_90 -o "$out/nolines.sm_90.cubin" inlined.ptx
ptx debug sm_90 -G
ptxas -arch=sm_90 -g -o "$out/debug.sm_90.cubin" debug.ptx
for part in a b; do
  ptx linked_$part sm_90 -lineinfo -rdc=true
  ptxas -arch=sm_90 -lineinfo -c -o linked_$part.o linked_$part.ptx
done
nvlink -arch=sm_90 -o "$out/linked.sm_90.cubin" linked_a.o linked_b.o
ptxas -arch=sm_80 -o "$out/python.sm_80.cubin" python.ptx

# Stores what nvdisasm prints for each instruction, but not its text: sections, functions, source lines, offsets.
if command -v nvdisasm >/dev/null; then
  for cubin in "$out"/*.cubin; do
    nvdisasm -c -gi "$cubin" 2>/dev/null | sed -E 's#^\s*(/\*[0-9a-f]+\*/).*#\1#' |
      grep -E '^/\*|^\s*//##|^\s*\.section\s|^[^. /][^ ]*:$' | sed -E 's#^\s+##' >"${cubin%.cubin}.lines"
  done
fi
