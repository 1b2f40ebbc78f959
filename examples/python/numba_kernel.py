#!/usr/bin/env python3
"""A Numba kernel: gpuprof record --stalls -- python3 numba_kernel.py"""

import numpy

if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack  # NumPy 2.5 has removed row_stack, but older Numbas need it.

from numba import cuda  # pylint: disable=wrong-import-position


@cuda.jit(lineinfo=True)
def chained(following, out, steps):
    place = cuda.grid(1)
    at = place * 977 % following.size
    for _ in range(steps):
        at = following[at]
    out[place] = at


def main():
    size = 1 << 24
    numbers = (numpy.arange(size, dtype=numpy.int64) * 1664525 + 1013904223) % size
    following = cuda.to_device(numbers)
    out = cuda.device_array(132 * 256, dtype=numpy.int64)
    for _ in range(50):
        chained[132, 256](following, out, 500)
    cuda.synchronize()
    print(int(out.copy_to_host().sum()))


if __name__ == "__main__":
    main()
