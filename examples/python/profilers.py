"""Runs the timed steps of an example under another profiler, to compare the overhead: --under NAME."""
import contextlib
import os
import tempfile

NAMES = ("none", "proton", "proton-pcsampling", "torch-profiler")


@contextlib.contextmanager
def proton(folder):
    """Triton's Proton with the Python stack of every launch."""
    from triton import profiler  # pylint: disable=import-outside-toplevel  # only if requested
    profiler.start(os.path.join(folder, "proton"), context="python")
    try:
        yield
    finally:
        profiler.finalize()


@contextlib.contextmanager
def proton_pcsampling(folder):
    """Triton's Proton with samples inside kernels."""
    from triton import profiler  # pylint: disable=import-outside-toplevel
    profiler.start(os.path.join(folder, "proton"), backend="cupti", mode="pcsampling")
    try:
        yield
    finally:
        profiler.finalize()


@contextlib.contextmanager
def torch_profiler(folder):
    """torch.profiler with stacks; its trace is not written."""
    del folder
    import torch  # pylint: disable=import-outside-toplevel
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, with_stack=True):
        yield


@contextlib.contextmanager
def under(name):
    """Context manager: runs the named profiler around its block."""
    if name == "none":
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        with {"proton": proton, "proton-pcsampling": proton_pcsampling, "torch-profiler": torch_profiler}[name](folder):
            yield
