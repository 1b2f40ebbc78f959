"""Other profilers around the timed steps of an example, to compare costs with: --under NAME."""
import contextlib
import os
import tempfile

NAMES = ("none", "proton", "proton-pcsampling", "torch-profiler")


@contextlib.contextmanager
def proton(folder):
    """Triton's Proton with the Python stack of every launch."""
    from triton import profiler  # pylint: disable=import-outside-toplevel  # only where it is asked for
    profiler.start(os.path.join(folder, "proton"), context="python")
    try:
        yield
    finally:
        profiler.finalize()


@contextlib.contextmanager
def proton_pcsampling(folder):
    """Triton's Proton sampling inside of kernels."""
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
    """The named one around what is done inside."""
    if name == "none":
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        with {"proton": proton, "proton-pcsampling": proton_pcsampling, "torch-profiler": torch_profiler}[name](folder):
            yield
