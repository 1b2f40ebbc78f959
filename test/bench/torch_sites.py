#!/usr/bin/env python3
"""Launches from known Python stacks: prints what traceback.extract_stack() returns at each launch, as JSON.

Each site has an NVTX range of its own, by which a profile identifies its launches. The stack is captured on the line of
the launch. Output: {"sites": {range: [[function, file, line], ...]}}, outermost first.
"""
import functools
import json
import sys
import threading
import traceback

import torch

SITES = {}


def note(name):
    """Stores the caller's stack and opens the site's NVTX range, which done() closes. Call it on the line of the launch."""
    torch.cuda.nvtx.range_push(name)
    SITES[name] = [[frame.name, frame.filename, frame.lineno] for frame in traceback.extract_stack()[:-1]]


def done(_):
    torch.cuda.nvtx.range_pop()


class Model(torch.nn.Module):
    def forward(self, data):
        note("module"), done(data.add_(1))  # pylint: disable=expression-not-assigned
        return data


class Doubled(torch.autograd.Function):
    """A function whose backward() the autograd engine calls on another thread."""

    @staticmethod
    def forward(ctx, data):
        return data * 2

    @staticmethod
    def backward(ctx, gradient):
        result = gradient.clone()
        note("backward"), done(result.mul_(2))  # pylint: disable=expression-not-assigned
        return result


def recursion(data, left):
    if left > 0:
        recursion(data, left - 1)
    else:
        note("recursion"), done(data.add_(1))  # pylint: disable=expression-not-assigned


def generator(data):
    for _ in range(1):
        note("generator"), done(data.add_(1))  # pylint: disable=expression-not-assigned
        yield data


def in_thread(data):
    note("thread"), done(data.add_(1))  # pylint: disable=expression-not-assigned


def compare(data, key):
    if key == 1:
        note("sort_key"), done(data.add_(1))  # pylint: disable=expression-not-assigned
    return key


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    data = torch.ones(1000, device=device)
    note("module_level"), done(data.add_(1))  # pylint: disable=expression-not-assigned
    Model()(data)
    recursion(data, 40)
    list(generator(data))
    sorted([3, 1, 2], key=functools.partial(compare, data))
    thread = threading.Thread(target=in_thread, args=(data,))
    thread.start()
    thread.join()
    wanted = torch.ones(1000, device=device, requires_grad=True)
    Doubled.apply(wanted).sum().backward()
    (lambda: (note("lambda"), done(data.add_(1))))()
    torch.cuda.synchronize()
    print(json.dumps({"sites": SITES}))


if __name__ == "__main__":
    main()
