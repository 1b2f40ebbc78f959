#!/usr/bin/env python3
"""Starts and ends processes in many ways, each with a known amount of GPU work: N fills through the CUDA driver.

    process_tree.py WAY [--fills N] [--pause-ms N]

  work          N fills here
  fork-first    forks before CUDA is used; parent and child make N fills each
  fork-after    forks after N fills; the child, which can not use CUDA, tries it and ends; then N more fills
  spawn         two workers of multiprocessing (spawn), N each, and N here
  subprocess    a child by vfork and exec, one by posix_spawn, one by fork and exec, N each, and N here
  nested        bash in bash in bash, the innermost with two children at once, N each
  orphan        N fills, and a child that makes N after this process has ended
  exec          N fills, then executes itself as `work`
  hard-exit, abort, segfault, hang-up   N fills, then _exit(7), or sends itself that signal
  close-all     N fills, closes the sockets and memory files that it did not open, N fills
  threads       N fills from each of four threads
  endless       N fills, over and over; with --log FILE a line "<CLOCK_MONOTONIC ns> <fills so far>" after each time,
                in FILE.<pid>
  endless-child the same in this process and in a child

Prints lines "expect KEY=VALUE": what its profile must contain. Needs only libcuda.so.1.
"""
import argparse
import ctypes
import multiprocessing
import os
import shlex
import signal
import subprocess
import sys
import threading
import time

BYTES = 1 << 16
NAME = os.path.abspath(__file__)


class Cuda:
    """A device's primary context, and memory in it."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.memory = ctypes.c_uint64()
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self.lib.cuInit(0))
        self.check(self.lib.cuDeviceGet(ctypes.byref(device), 0))
        self.check(self.lib.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), device))
        self.enter()
        self.check(self.lib.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(BYTES)))

    @staticmethod
    def check(status):
        if status != 0:
            sys.exit(f"process_tree.py: CUDA driver error {status}")

    def enter(self):
        self.check(self.lib.cuCtxSetCurrent(self.context))

    def fill(self, times):
        for _ in range(times):
            self.check(self.lib.cuMemsetD8Async(self.memory, ctypes.c_ubyte(0), ctypes.c_size_t(BYTES), None))
        self.check(self.lib.cuCtxSynchronize())


def work(fills):
    cuda = Cuda()
    cuda.fill(fills)
    return cuda


def alone(fills):
    work(fills)
    return fills, 1


def command(fills):
    return [sys.executable, NAME, "work", "--quiet", "--fills", str(fills)]


def wait_for(child):
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit(f"process_tree.py: a child ended with status {status}")


def fork(do):
    child = os.fork()
    if child == 0:
        do()
        os._exit(0)
    return child


def fork_first(fills):
    child = os.fork()
    work(fills)
    if child == 0:
        sys.exit(0)
    wait_for(child)
    return 2 * fills, 2


def fork_after(fills):
    cuda = work(fills)

    def try_cuda():
        if cuda.lib.cuCtxSynchronize() == 0:
            os._exit(3)

    wait_for(fork(try_cuda))
    cuda.fill(fills)
    return 2 * fills, 1


def spawn(fills):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(fills,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    work(fills)
    for worker in workers:
        worker.join()
        if worker.exitcode != 0:
            sys.exit(f"process_tree.py: a worker ended with status {worker.exitcode}")
    return 3 * fills, 3


def subprocesses(fills):
    subprocess.run(command(fills), check=True)  # uses vfork() and exec(), if this Python supports it
    work(fills)
    wait_for(os.posix_spawn(sys.executable, command(fills), os.environ))
    wait_for(fork(lambda: os.execv(sys.executable, command(fills))))
    return 4 * fills, 4


def nested(fills):
    inner = shlex.join(command(fills))
    middle = f"{inner} & {inner}; wait"
    outer = f"bash -c {shlex.quote(middle)} && true"
    subprocess.run(["bash", "-c", f"bash -c {shlex.quote(outer)} && true"], check=True)
    return 2 * fills, 2


def orphan(fills):
    parent = os.getpid()

    def later():
        while os.getppid() == parent:
            time.sleep(0.05)
        time.sleep(0.3)
        os.execv(sys.executable, command(fills))

    fork(later)
    work(fills)
    return 2 * fills, 2


def execute(fills):
    work(fills)
    return 2 * fills, 2, lambda: os.execv(sys.executable, command(fills))


def ending(end):
    def way(fills):
        work(fills)
        return fills, 1, end

    return way


def is_foreign(fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}").startswith(("socket:", "/memfd:"))
    except OSError:
        return False


def close_all(fills):
    cuda = work(fills)
    # Closes only sockets and memory files, which a profiler may have opened. Device files and pipes belong to the CUDA
    # driver.
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and is_foreign(fd):
            os.close(fd)
    cuda.fill(fills)
    return 2 * fills, 1


def threads(fills):
    cuda = Cuda()

    def run():
        cuda.enter()
        cuda.fill(fills)

    running = [threading.Thread(target=run) for _ in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return 4 * fills, 1


def endless(fills, log):
    cuda = Cuda()
    done = 0
    log = os.open(f"{log}.{os.getpid()}" if log else os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        cuda.fill(fills)
        done += fills
        # written without a buffer, because the process may be killed at any time
        os.write(log, f"{time.monotonic_ns()} {done}\n".encode())
        time.sleep(0.002)


def endless_child(fills, log):
    os.fork()
    endless(fills, log)


WAYS = {
    "work": alone,
    "fork-first": fork_first,
    "fork-after": fork_after,
    "spawn": spawn,
    "subprocess": subprocesses,
    "nested": nested,
    "orphan": orphan,
    "exec": execute,
    "hard-exit": ending(lambda: os._exit(7)),
    "abort": ending(os.abort),
    "segfault": ending(lambda: os.kill(os.getpid(), signal.SIGSEGV)),
    "hang-up": ending(lambda: os.kill(os.getpid(), signal.SIGHUP)),
    "close-all": close_all,
    "threads": threads,
}


ENDLESS = {"endless": endless, "endless-child": endless_child}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=sorted({**WAYS, **ENDLESS}))
    parser.add_argument("--fills", type=int, default=100)
    parser.add_argument("--pause-ms", type=int, default=0, help="before an end other than by return, and an exec")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--log", metavar="FILE")
    options = parser.parse_args()
    if options.way in ENDLESS:
        ENDLESS[options.way](options.fills, options.log)
    records, processes, *end = WAYS[options.way](options.fills)
    if not options.quiet:
        print(f"expect records={records}\nexpect processes={processes}", flush=True)
    if end:
        time.sleep(options.pause_ms / 1000)
        end[0]()


if __name__ == "__main__":
    main()
