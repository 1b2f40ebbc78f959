#!/usr/bin/env python3
"""A training step limited by launches: a small PyTorch transformer with hundreds of short kernels per step.

    torch_step.py [--steps N] [--warmup N] [--layers N] [--device cuda] [--json] [--torch-profiler] [--graph] [--nvtx]
                  [--under proton|torch-profiler] [--extra-elements N]

Prints the median milliseconds per step; native and recorded runs differ by a profiler's overhead. --torch-profiler
runs the steps again under torch.profiler and prints its GPU time per kernel, for comparison. --graph captures one step
as a CUDA graph and replays it. --nvtx puts each step into a range "step", with inner ranges "forward", "backward" and
"optimizer" (for a graph, during the capture). --under times the steps while another profiler takes their stacks.
--extra-elements adds a kernel to each step, which computes N sines. Its time is proportional to N, so a larger N stands
for a kernel that became slower by a known factor.
"""
import argparse
import contextlib
import json
import statistics
import time

import torch
from torch import nn

import profilers

VOCABULARY = 1024
WIDTH = 256
HEADS = 4
BATCH = 4
LENGTH = 64


class Model(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, dim_feedforward=4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens)))


class Training:
    """The same data in every step and the same seed in every run, so that runs can be compared."""

    def __init__(self, layers, device, nvtx=False, capturable=False, extra=0):
        torch.manual_seed(0)
        self.model = Model(layers).to(device).train()
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=1e-4, foreach=True, capturable=capturable)
        self.range = torch.cuda.nvtx.range if nvtx else lambda _: contextlib.nullcontext()
        self.tokens = torch.randint(VOCABULARY, (BATCH, LENGTH), device=device)
        self.targets = torch.randint(VOCABULARY, (BATCH * LENGTH,), device=device)
        self.extra = torch.rand(extra, device=device)
        self.extra_result = torch.empty_like(self.extra)

    def forward(self):
        logits = self.model(self.tokens)
        return nn.functional.cross_entropy(logits.view(-1, VOCABULARY), self.targets)

    def add_extra(self):
        if len(self.extra):
            torch.sin(self.extra, out=self.extra_result)

    def step(self):
        with self.range("step"):
            self.add_extra()
            self.optimizer.zero_grad(set_to_none=True)
            with self.range("forward"):
                loss = self.forward()
            with self.range("backward"):
                loss.backward()
            with self.range("optimizer"):
                self.optimizer.step()
            return loss


class CapturedTraining(Training):
    """The step, captured once and launched as one CUDA graph."""

    BEFORE = 3  # number of steps before the graph is captured

    def __init__(self, layers, device, nvtx, extra):
        super().__init__(layers, device, nvtx, capturable=True, extra=extra)
        # In the first steps, libraries allocate memory and choose kernels. These actions must not be captured.
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(CapturedTraining.BEFORE):
                super().step()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            self.loss = super().step()

    def step(self):
        with self.range("step"):
            self.graph.replay()
        return self.loss


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def timed_steps(training, device, steps):
    """Returns the milliseconds of each step, including its GPU work."""
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        training.step()
        synchronize(device)
        times.append(1000 * (time.perf_counter() - begin))
    return times


def device_time_us(event):
    # PyTorch 2.4 has renamed this attribute.
    return event.self_device_time_total if hasattr(event, "self_device_time_total") else event.self_cuda_time_total


def profiled_steps(training, device, steps):
    """Runs the steps under torch.profiler: {kernel: {count, ns}}, and milliseconds of each step."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profiler:
        times = timed_steps(training, device, steps)
    kernels = {}
    for event in profiler.key_averages():
        on_device = event.device_type == torch.autograd.DeviceType.CUDA
        # The ranges of steps and annotations also appear as device events. They would count their kernels a second
        # time.
        if on_device and not getattr(event, "is_user_annotation", False):
            kernels[event.key] = {"count": event.count, "ns": round(1000 * device_time_us(event))}
    return kernels, times


def summary(times):
    return {"median_ms": statistics.median(times), "p10_ms": sorted(times)[len(times) // 10], "min_ms": min(times),
            "max_ms": max(times), "steps": len(times)}


def print_text(result):
    print(f"{result['median_ms']:.3f} ms per step (median of {result['steps']}; {result['min_ms']:.3f} to "
          f"{result['max_ms']:.3f}; 10th percentile {result['p10_ms']:.3f}), loss {result['loss']:.6f}, {result['total_steps']} steps in all")
    profiler = result.get("torch_profiler")
    if profiler:
        print(f"torch.profiler: {profiler['total_ns']} ns on the GPU in {profiler['count']} kernels, copies and fills "
              f"of {profiler['steps']} steps; {profiler['median_ms']:.3f} ms per step")
        for name, kernel in sorted(profiler["kernels"].items(), key=lambda item: -item[1]["ns"]):
            print(f"{kernel['ns']:>14} ns {kernel['count']:>8}  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50, help="timed steps")
    parser.add_argument("--warmup", type=int, default=10, help="steps before them")
    parser.add_argument("--layers", type=int, default=22, help="some 40 launches each")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--torch-profiler", action="store_true", help="run the steps under torch.profiler, too")
    parser.add_argument("--graph", action="store_true", help="capture the step as a CUDA graph and replay it")
    parser.add_argument("--nvtx", action="store_true", help="mark the steps with NVTX ranges")
    parser.add_argument("--extra-elements", type=int, default=0, help="numbers of a kernel that is added to each step")
    parser.add_argument("--under", default="none", choices=profilers.NAMES, help="time the steps under this profiler")
    options = parser.parse_args()
    if options.steps < 1 or options.warmup < 0 or options.layers < 1 or options.extra_elements < 0:
        parser.error("--steps and --layers want a positive number")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU here (--device cpu works without one)")

    if options.device != "cuda" and (options.graph or options.nvtx):
        parser.error("--graph and --nvtx want --device cuda")

    if options.graph:
        training = CapturedTraining(options.layers, options.device, options.nvtx, options.extra_elements)
    else:
        training = Training(options.layers, options.device, options.nvtx, extra=options.extra_elements)
    if options.warmup:
        timed_steps(training, options.device, options.warmup)
    with profilers.under(options.under):
        result = summary(timed_steps(training, options.device, options.steps))
    result["torch"] = torch.__version__
    result["total_steps"] = options.warmup + options.steps
    result["graph"] = options.graph
    if options.torch_profiler:
        kernels, times = profiled_steps(training, options.device, options.steps)
        result["total_steps"] += options.steps
        result["torch_profiler"] = {
            **summary(times), "kernels": kernels, "count": sum(kernel["count"] for kernel in kernels.values()),
            "total_ns": sum(kernel["ns"] for kernel in kernels.values())}
    result["loss"] = training.step().item()
    result["total_steps"] += 1
    synchronize(options.device)
    if options.json:
        print(json.dumps(result))
    else:
        print_text(result)


if __name__ == "__main__":
    main()
