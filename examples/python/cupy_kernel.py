#!/usr/bin/env python3
"""A CuPy kernel, compiled at run time with line information: gpuprof record --stalls -- python3 cupy_kernel.py"""

import cupy

SOURCE = r"""
extern "C" __global__ void chained(const unsigned* next, unsigned* out, int steps, unsigned size) {
  unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 977u % size;
  for (int i = 0; i < steps; ++i) {
    at = next[at];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
"""


def main():
    size = 1 << 24
    chained = cupy.RawKernel(SOURCE, "chained", options=("-lineinfo",))
    following = (cupy.arange(size, dtype=cupy.uint32) * cupy.uint32(1664525) + cupy.uint32(1013904223)) % cupy.uint32(size)
    out = cupy.zeros(132 * 256, dtype=cupy.uint32)
    for _ in range(50):
        chained((132,), (256,), (following, out, 500, cupy.uint32(size)))
    cupy.cuda.Device().synchronize()
    print(int(out.sum()))


if __name__ == "__main__":
    main()
