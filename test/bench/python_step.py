#!/usr/bin/env python3
"""Launches kernels of the mock driver through 18 Python frames and about 40 native frames, like a step of PyTorch. Most
launches come from another place than the launch before. Prints the time of a launch.

    python_step.py LIBRARY [--steps N] [--cache KIB]

LIBRARY is the first of the libraries of stacks/step_layers.cpp. --cache reads this many KiB before each launch, so that the caches
lose their contents as they do in a large program.
"""

import argparse
import ctypes
import statistics
import time

LAYERS = 6
PATHS = 4096


class Module:
    """Calls `forward` through as many Python functions as a module of PyTorch does."""

    def __init__(self, launch):
        self.launch = launch

    def enter(self, number):
        return self.wrapped(number)

    def __call__(self, number):  # Python calls it from a C function
        return self.wrapped(number)

    def wrapped(self, number):
        return self.call(number)

    def call(self, number):
        return self.forward(number)

    def forward(self, number):
        raise NotImplementedError


class Linear(Module):
    def forward(self, number):
        multiply(self.launch, number)
        add(self.launch, number)


class Norm(Module):
    def forward(self, number):
        mean(self.launch, number)
        multiply(self.launch, number + 1)
        add(self.launch, number + 1)


class Block(Module):
    def __init__(self, launch):
        super().__init__(launch)
        self.norm, self.first, self.second = Norm(launch), Linear(launch), Linear(launch)

    def forward(self, number):
        self.norm.enter(number)
        self.first.enter(number)
        activate(self.launch, number)
        self.second.enter(number + 1)
        activate(self.launch, number + 1)


class Model(Module):
    def __init__(self, launch):
        super().__init__(launch)
        self.blocks = [Block(launch) for _ in range(LAYERS)]

    def forward(self, number):
        for i, block in enumerate(self.blocks):
            block.enter(number + 7 * i)


def multiply(launch, number):
    dispatch(launch, 11 * number)


def add(launch, number):
    dispatch(launch, 13 * number + 1)


def mean(launch, number):
    dispatch(launch, 17 * number + 2)


def activate(launch, number):
    dispatch(launch, 19 * number + 3)


def dispatch(launch, number):
    launch(number % PATHS)


def open_function(driver):
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    for result in (driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
                   driver.cuCtxSetCurrent(context), driver.cuModuleLoadData(ctypes.byref(module), b"tiny 1\n"),
                   driver.cuModuleGetFunction(ctypes.byref(function), module, b"tiny")):
        if result != 0:
            raise SystemExit(f"python_step: the driver returned {result}")
    return function


def make_launch(library, function, cache):
    layer, use_cache, address = library.step_layer_0, library.step_use_cache, function.value
    layer.argtypes, use_cache.argtypes = [ctypes.c_void_p, ctypes.c_uint32], [ctypes.c_size_t]

    def launch(path):
        if cache:
            use_cache(cache)
        if layer(address, path) != 0:
            raise SystemExit("python_step: a launch failed")

    return launch


def run_step(model, launches):
    begin = time.perf_counter_ns()
    model(0)
    return (time.perf_counter_ns() - begin) / launches


def run_steps(model, launches, steps):
    times = []
    for _ in range(steps):
        times.append(run_step(model, launches))
    return sorted(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cache", type=int, default=0)
    options = parser.parse_args()
    library = ctypes.CDLL(options.library)
    launches = []
    model = Model(launches.append)
    model(0)
    launch = make_launch(library, open_function(ctypes.CDLL("libcuda.so.1")), options.cache * 1024)
    times = run_steps(Model(launch), len(launches), options.steps)
    print(f"{statistics.median(times):.0f} ns per launch (median of {len(times)} steps of {len(launches)} launches; "
          f"least {times[0]:.0f}; 10th percentile {times[len(times) // 10]:.1f})")


if __name__ == "__main__":
    main()
