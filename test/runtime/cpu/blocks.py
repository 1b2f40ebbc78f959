#!/usr/bin/env python3
"""The Python counterpart of blocks.cpp, without files. Times of waits are without waits for a processor."""
import os
import threading
import time

import pyopencl

ROUNDS = 5
spent = {}


def queued_ns():
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        return int(file.read().split()[1])


def blocked_ns():
    return time.monotonic_ns() - time.thread_time_ns() - queued_ns()


def timed(function, clock=time.monotonic_ns):
    begin = clock()
    function()
    spent[function.__name__] = spent.get(function.__name__, 0) + clock() - begin


def compute_in_a():
    end = time.monotonic() + 0.1
    value = 1.0
    while time.monotonic() < end:
        for _ in range(1000):
            value = value * 0.999 + 1


def sleep_in_b():
    time.sleep(0.1)


lock = threading.Lock()
lock_wanted = threading.Semaphore(0)
lock_held = threading.Semaphore(0)
data_wanted = threading.Semaphore(0)
ends = os.pipe()


def hold_lock():
    for _ in range(ROUNDS):
        lock_wanted.acquire()
        with lock:
            lock_held.release()
            time.sleep(0.1)


def write_slowly():
    for _ in range(ROUNDS):
        data_wanted.acquire()
        time.sleep(0.1)
        os.write(ends[1], b"x")


def wait_for_lock():
    lock_wanted.release()
    lock_held.acquire()
    with lock:
        pass


def read_from_pipe():
    data_wanted.release()
    os.read(ends[0], 1)


def run(queue, kernel):
    kernel(queue, (1,), (1,))
    queue.finish()


def whole():
    timed(compute_in_a, time.thread_time_ns)
    timed(sleep_in_b, blocked_ns)
    timed(wait_for_lock, blocked_ns)
    timed(read_from_pipe, blocked_ns)


def main():
    threads = [threading.Thread(target=hold_lock), threading.Thread(target=write_slowly)]
    for thread in threads:
        thread.start()
    context = pyopencl.create_some_context(interactive=False)
    queue = pyopencl.CommandQueue(context)
    kernel = pyopencl.Kernel(pyopencl.Program(context, "kernel void empty() {}").build(), "empty")
    run(queue, kernel)
    for _ in range(ROUNDS):
        timed(whole)
        run(queue, kernel)
    for thread in threads:
        thread.join()
    for name, nanoseconds in spent.items():
        print(f"expect {name}={nanoseconds}")


if __name__ == "__main__":
    main()
