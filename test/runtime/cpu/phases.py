#!/usr/bin/env python3
"""The Python counterpart of phases.cpp."""
import threading
import time

import pyopencl

ROUNDS = 8
spent = {}


def timed(function, clock=time.monotonic_ns):
    begin = clock()
    function()
    spent[function.__name__] = spent.get(function.__name__, 0) + clock() - begin


def compute_in_a():
    end = time.monotonic() + 0.3
    value = 1.0
    while time.monotonic() < end:
        for _ in range(1000):
            value = value * 0.999 + 1


def sleep_in_b():
    time.sleep(0.2)


lock = threading.Lock()
wanted = threading.Semaphore(0)
held = threading.Semaphore(0)


def hold_lock():
    for _ in range(ROUNDS):
        wanted.acquire()
        with lock:
            held.release()
            time.sleep(0.1)


def wait_for_lock():
    wanted.release()
    held.acquire()
    with lock:
        pass


def run(queue, kernel):
    kernel(queue, (1,), (1,))
    queue.finish()


def whole():
    timed(compute_in_a, time.thread_time_ns)
    timed(sleep_in_b)
    timed(wait_for_lock)


def main():
    holder = threading.Thread(target=hold_lock)
    holder.start()
    context = pyopencl.create_some_context(interactive=False)
    queue = pyopencl.CommandQueue(context)
    kernel = pyopencl.Kernel(pyopencl.Program(context, "kernel void empty() {}").build(), "empty")
    run(queue, kernel)
    for _ in range(ROUNDS):
        timed(whole)
        run(queue, kernel)
    holder.join()
    for name, nanoseconds in spent.items():
        print(f"expect {name}={nanoseconds}")


if __name__ == "__main__":
    main()
