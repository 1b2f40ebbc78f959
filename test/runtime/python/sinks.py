"""Ends each case by a launch or by a walk of the in-process engine, and stores the interpreter's own view of that stack."""

import ctypes
import sys
import traceback


def stack_of(frame):
    """Returns [(name, file, line)] by traceback, innermost first. Names are qualified if code objects have co_qualname."""
    frames = []
    for entry in reversed(traceback.extract_stack(frame)):
        code = frame.f_code
        assert (entry.name, entry.filename) == (code.co_name, code.co_filename)
        frames.append([getattr(code, "co_qualname", code.co_name), entry.filename, entry.lineno or 0])
        frame = frame.f_back
    assert frame is None
    return frames


class Sink:
    """`call` is a C function; `call(*note())` on one line ends a case."""

    def __init__(self):
        self.cases = {}
        self.case = ""
        self.variant = self.variants[0]

    def note(self):
        """Stores the caller's stack at its current line; returns the arguments for the call on that line."""
        name = self.case + "." + self.variant
        frames = stack_of(sys._getframe(1))
        known = self.cases.setdefault(name, {"frames": frames, "count": 0})
        known["count"] += 1
        if known["frames"] != frames:
            raise AssertionError(name + " has several stacks")
        return self.arguments(name)

    def without_frames(self):
        """Like note(), for a call from a thread that runs no Python."""
        name = self.case + "." + self.variant
        self.cases[name] = {"frames": [], "count": 1}
        return self.arguments(name)


class Launches(Sink):
    """Launches kernels of the mock CUDA driver, each case under its own name. The call releases or holds the GIL."""

    variants = ("released", "held")

    def __init__(self):
        super().__init__()
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.holding = ctypes.PyDLL("libcuda.so.1")
        self.functions = {}
        self.context = ctypes.c_void_p()
        self.check(self.driver.cuInit(0))
        self.check(self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), 0))
        self.check(self.driver.cuCtxSetCurrent(self.context))

    @staticmethod
    def check(result):
        if result != 0:
            raise RuntimeError("the driver says {}".format(result))

    def arguments(self, name):
        function = self.functions.get(name)
        if function is None:
            function = self.functions[name] = ctypes.c_void_p()
            module, image = ctypes.c_void_p(), "{} 1000\n".format(name)  # image format of the mock: kernel name and ns
            self.check(self.driver.cuModuleLoadData(ctypes.byref(module), image.encode()))
            self.check(self.driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
        self.check(self.driver.cuCtxSetCurrent(self.context))
        return (function, 1, 1, 1, 32, 1, 1, 0, None, None, None)

    @property
    def call(self):
        return (self.driver if self.variant == "released" else self.holding).cuLaunchKernel

    def finish(self):
        self.check(self.driver.cuCtxSynchronize())


class Walks(Sink):
    """Walks with the in-process engine, without a recorder."""

    variants = ("released", "held", "careful")

    def __init__(self, path):
        super().__init__()
        self.library = ctypes.CDLL(path)
        self.holding = ctypes.PyDLL(path)
        self.library.probe_text.restype = ctypes.c_char_p

    def arguments(self, name):
        return (name.encode(), int(self.variant == "careful"))

    @property
    def call(self):
        return (self.holding if self.variant == "held" else self.library).probe_walk

    def finish(self):
        for name, case in self.cases.items():
            text = self.library.probe_text(name.encode())
            lines = [] if text is None else text.decode("ascii").splitlines()
            case["walk"] = [self.frame(line) for line in lines[:-1]]
            case["boundaries"] = [int(line.split()[3]) for line in lines[:-1]]
            case["end"] = lines[-1] if lines else "no walk"

    @staticmethod
    def frame(line):
        name, file, number, _ = line.split()
        texts = [bytes.fromhex(text.strip("-")).decode("utf-8", "surrogateescape") for text in (name, file)]
        return [*texts, int(number)]
