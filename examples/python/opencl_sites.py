#!/usr/bin/env python3
"""Three Python functions that launch OpenCL kernels: the Python counterpart of examples/opencl/three_sites.cpp.

    opencl_sites.py [--launches N] [--steps N]
"""
import argparse

import numpy
import pyopencl

SOURCE = """
float run(float value, int steps) {
  for (int i = 0; i < steps; ++i) {
    value = value * 0.999f + sqrt(value + 1.0f);
  }
  return value;
}
kernel void light(global float* data, int steps) {
  data[get_global_id(0)] = run(get_global_id(0), steps);
}
kernel void heavy(global float* data, int steps) {
  float sum = 0.0f;
  for (int i = 0; i < 4; ++i) {
    sum += run(get_global_id(0) + i, steps);
  }
  data[get_global_id(0)] = sum;
}
"""

WORK_ITEMS = 64


def assemble(queue, kernel, data, steps):
    kernel(queue, (WORK_ITEMS,), (WORK_ITEMS,), data, steps)


def solve(queue, kernel, data, steps):
    kernel(queue, (WORK_ITEMS,), (WORK_ITEMS,), data, steps)


def postprocess(queue, kernel, data, steps):
    kernel(queue, (WORK_ITEMS,), (WORK_ITEMS,), data, steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=500, help="launches of each site")
    parser.add_argument("--steps", type=int, default=300, help="work of one `light` kernel")
    options = parser.parse_args()

    context = pyopencl.create_some_context(interactive=False)
    queue = pyopencl.CommandQueue(context)
    program = pyopencl.Program(context, SOURCE).build()
    light = pyopencl.Kernel(program, "light")
    heavy = pyopencl.Kernel(program, "heavy")
    flags = pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.COPY_HOST_PTR
    data = pyopencl.Buffer(context, flags, hostbuf=numpy.ones(WORK_ITEMS, dtype=numpy.float32))
    steps = numpy.int32(options.steps)

    for _ in range(options.launches):
        assemble(queue, light, data, steps)
        solve(queue, heavy, data, steps)
        postprocess(queue, light, data, steps)
    queue.finish()

    for site, kernel in (("assemble", "light"), ("solve", "heavy"), ("postprocess", "light")):
        print(f"expected {site} {kernel} {options.launches}")


if __name__ == "__main__":
    main()
