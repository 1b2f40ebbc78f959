#!/usr/bin/env python3
"""A small Llama of the `transformers` library with random weights: a training step, or tokens one by one.

    transformers_step.py [--generate] [--steps N] [--warmup N] [--layers N] [--device cuda] [--json]
                         [--under proton|torch-profiler]

Prints the median milliseconds per step, or per token with --generate. Both are limited by launches, with deeper
stacks than plain PyTorch. Downloads nothing. If a module is missing, prints the reason and exits with status 77
("skipped").
"""
import argparse
import json
import statistics
import sys
import time

NOT_HERE = 77  # exit code that test runners report as "skipped"

try:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError as error:
    print(f"skipped: {error}", file=sys.stderr)
    sys.exit(NOT_HERE)

import profilers  # pylint: disable=wrong-import-position

VOCABULARY = 1024
BATCH = 2
LENGTH = 64


def make_model(layers, device):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=256, intermediate_size=512, num_hidden_layers=layers, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=4096, bos_token_id=1, eos_token_id=2, pad_token_id=0)
    return LlamaForCausalLM(config).to(device)


class Training:
    """The same data in every step and the same seed in every run, so that runs can be compared."""

    unit = "step"

    def __init__(self, layers, device):
        self.model = make_model(layers, device).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, foreach=True)
        self.tokens = torch.randint(3, VOCABULARY, (BATCH, LENGTH), device=device)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.model(input_ids=self.tokens, labels=self.tokens).loss
        loss.backward()
        self.optimizer.step()


class Generation:
    """Generates tokens one by one, each from all previous ones."""

    unit = "token"

    def __init__(self, layers, device):
        self.model = make_model(layers, device).eval()
        self.tokens = torch.randint(3, VOCABULARY, (1, LENGTH), device=device)
        self.result = None
        self.cache = None

    @torch.no_grad()
    def step(self):
        if self.cache is None:
            self.result = self.tokens
        done = self.model(input_ids=self.result, past_key_values=self.cache, use_cache=True)
        self.cache = done.past_key_values
        self.result = done.logits[:, -1:].argmax(-1)


def timed(work, device, steps):
    """Returns the milliseconds of each step, including its GPU work."""
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        work.step()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(1000 * (time.perf_counter() - begin))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--generate", action="store_true", help="tokens one by one instead of training steps")
    parser.add_argument("--steps", type=int, default=50, help="timed steps, or tokens")
    parser.add_argument("--warmup", type=int, default=10, help="before them")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--under", default="none", choices=profilers.NAMES, help="time the steps under this profiler")
    options = parser.parse_args()
    if options.steps < 1 or options.warmup < 0 or options.layers < 1:
        parser.error("--steps and --layers want a positive number")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU here (--device cpu works without one)")

    work = (Generation if options.generate else Training)(options.layers, options.device)
    timed(work, options.device, options.warmup)
    with profilers.under(options.under):
        times = timed(work, options.device, options.steps)
    result = {"median_ms": statistics.median(times), "min_ms": min(times), "max_ms": max(times), "steps": len(times),
              "unit": work.unit, "torch": torch.__version__}
    if options.json:
        print(json.dumps(result))
    else:
        print(f"{result['median_ms']:.3f} ms per {work.unit} (median of {len(times)}; {min(times):.3f} to "
              f"{max(times):.3f})")


if __name__ == "__main__":
    main()
