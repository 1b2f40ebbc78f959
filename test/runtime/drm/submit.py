"""Submits jobs to a fake GPU from known Python functions, through fcntl.ioctl() and a C function called by ctypes.

environment: FAKE_GPU, its device node; WARM_UP: a file; warm_up() submits jobs until the file exists
"""

import ctypes
import fcntl
import os
import struct
import time

SUBMIT = 0x40206701  # FAKE_GPU_SUBMIT of fake_gpu.h
WAIT = 0x6702
gpu = os.open(os.environ["FAKE_GPU"], os.O_RDWR | os.O_CLOEXEC)
c_ioctl = ctypes.CDLL(None).ioctl


def job(ring, microseconds):
    return struct.pack("=IIQIIQ", ring, 0, microseconds * 1000, 1, 0, 0)


def by_fcntl(ring, microseconds):
    fcntl.ioctl(gpu, SUBMIT, job(ring, microseconds))


def by_ctypes(ring, microseconds):
    c_ioctl(gpu, ctypes.c_ulong(SUBMIT), job(ring, microseconds))


def warm_up(until):
    for _ in range(2400):
        if os.path.exists(until):
            return
        by_fcntl(0, 100)
        time.sleep(0.05)
    raise SystemExit(f"{until} does not come")


class Model:
    def forward(self, count):
        for _ in range(count):
            by_fcntl(0, 1000)

    def backward(self, count):
        for _ in sorted(range(count), key=lambda step: by_ctypes(1, 1000) or step):
            pass


def train():
    model = Model()
    model.forward(20)
    model.backward(10)


warm_up(os.environ["WARM_UP"])
train()
fcntl.ioctl(gpu, WAIT, 0)
