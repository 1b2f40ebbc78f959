"""Makes calls of many kinds that end in a launch, under any CPython from 3.9 on. Also stores the interpreter's own view of
each stack.

    cases.py RESULT HELPER          kernels of the mock CUDA driver (found through LD_LIBRARY_PATH)
    cases.py RESULT HELPER PROBE    the in-process engine's walk at the same call sites, without a recorder

RESULT gets JSON: {"version": ..., "cases": {name: {"frames": [[name, file, line], ...], ...}}}, innermost first.
"""

import asyncio
import concurrent.futures
import contextlib
import ctypes
import functools
import gc
import importlib
import itertools
import json
import os
import re
import signal
import sys
import tempfile
import threading
import weakref

import code_cases
import sinks

SINK = None
HELPER = None
CASES = []
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)


def case(function):
    CASES.append(function)
    return function


def leaf(*_ignored, **_named):
    call, note = SINK.call, SINK.note
    result = call(*note())
    return 0 * result + 1


# Ways to call `f`, mostly through C.


def by_sorted(f):
    return sorted([2], key=lambda _: f())


def by_map(f):
    return list(map(lambda _: f(), [1]))


def by_reduce(f):
    return functools.reduce(lambda first, second: f(), [1, 2])


def by_substitution(f):
    return re.sub("x", lambda match: str(f()), "axb")


def by_partial(f):
    return functools.partial(lambda first, second: second(), 1)(f)


@functools.lru_cache(maxsize=None)
def cached(f):
    return f()


def by_cache(f):
    cached.cache_clear()
    return cached(f)


def inner_generator(f):
    yield 1
    yield f()


def outer_generator(f):
    yield from inner_generator(f)


def by_generator(f):
    return list(outer_generator(f))


def by_sent_value(f):
    def receive():
        while True:
            got = yield
            if got:
                got()

    generator = receive()
    next(generator)
    generator.send(f)
    generator.close()
    return 1


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments, **named):
        return function(*arguments, **named)

    return wrapper


@decorated
@decorated
def by_decorators(f, *, twice=False):
    return f() + int(twice)


def by_contexts(f):
    @contextlib.contextmanager
    def manager():
        try:
            yield f
        finally:
            pass

    with manager() as entered, contextlib.ExitStack() as stack:
        stack.callback(
            lambda:
            entered())
    return 1


class Attributes:
    def __init__(self, f):
        self._f = f

    @property
    def value(self):
        return self._f()

    def __getattr__(self, name):
        return self.value

    def __getitem__(self, key):
        return self.missing

    def __eq__(self, other):
        return bool(self[other])

    def __hash__(self):
        return hash(self == 1)

    def __iter__(self):
        return iter([hash(self)])

    def __call__(self):
        return [*self]


def by_attributes(f):
    return Attributes(f)()


def by_comprehensions(f):
    return [{key: value for key, value in [(1, sum(f() for _ in [1]))]} for _ in [1]]


def by_text(f):
    scope = {"f": f}
    exec("def run():\n\n    return eval('f(' '\\n' ')')\nresult = run()", scope)
    return scope["result"]


def by_class_body(f):
    class Meta(type):
        def __new__(cls, name, bases, scope):
            scope["value"] = (
                f())
            return super().__new__(cls, name, bases, scope)

    class Body:
        class Inner(metaclass=Meta):
            pass

        value = Inner.value

    return Body.value


def by_exceptions(f):
    try:
        try:
            raise ValueError("for the handler")
        except ValueError as error:
            raise TypeError from error
        finally:
            first = [None]
    except TypeError:
        try:
            first[0] = max([1], key=lambda _: f())
        finally:
            first.append(
                2)
    return first[0]


def by_ctypes(f):
    return CALLBACK(lambda value: f() + value)(1)


def by_helper(f):
    return HELPER.helper_call_back(CALLBACK(lambda value: f() + value), 1)


def by_method(f):
    class Holder:
        @classmethod
        def made(cls, function):
            return cls().bound(function)

        def bound(self, function):
            return type(self).static(function)

        @staticmethod
        def static(function):
            return function()

    return Holder.made(f)


def by_itertools(f):
    return [*itertools.starmap(lambda first, second: f(), [(1, 2)]), *filter(lambda value: value, [0])]


WAYS = [
    by_sorted, by_map, by_reduce, by_substitution, by_partial, by_cache, by_generator, by_sent_value, by_decorators,
    by_contexts, by_attributes, by_comprehensions, by_text, by_class_body, by_exceptions, by_ctypes, by_helper,
    by_method, by_itertools
]


def add_way(way):
    def run():
        return way(leaf)

    run.__name__ = way.__name__
    case(run)


for one_way in WAYS:
    add_way(one_way)


def chained(ways):
    if not ways:
        return leaf()
    return ways[0](lambda: len([chained(ways[1:])]))


@case
def chain():
    """Nests all ways to call on one stack."""
    return chained(WAYS)


@case
def chain_backwards():
    return chained(WAYS[::-1])


@case
def recursion():
    def down(depth):
        if depth == 0:
            return leaf()
        return down(depth - 1)

    return down(300)


@case
def recursion_through_c():
    def down(depth):
        return leaf() if depth == 0 else max([depth], key=lambda value: down(value - 1))

    return down(40)


@case
def thread():
    thread = threading.Thread(target=by_sorted, args=(leaf,))
    thread.start()
    thread.join()


@case
def pool():
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        executor.submit(by_map, leaf).result()


@case
def threads_at_once():
    """Launches while other threads run Python or wait for the GIL."""
    end = threading.Event()

    def busy(depth):
        while depth == 0 and not end.is_set():
            sum(range(50))
        return depth and busy(depth - 1)

    others = [threading.Thread(target=busy, args=(depth,)) for depth in (3, 30)]
    for other in others:
        other.start()
    try:
        for _ in range(20):
            by_generator(leaf)
    finally:
        end.set()
        for other in others:
            other.join()


@case
def coroutines():
    class Manager:
        async def __aenter__(self):
            return await asyncio.sleep(0, self)

        async def __aexit__(self, *error):
            return False

    async def numbers(f):
        yield f()

    async def inner(f):
        await asyncio.sleep(0)
        async with Manager():
            return [value async for value in numbers(f)]

    async def main():
        return await asyncio.gather(asyncio.ensure_future(inner(leaf)), asyncio.sleep(0))

    asyncio.run(main())


@case
def executor_of_a_loop():
    async def main():
        await asyncio.get_running_loop().run_in_executor(None, by_reduce, leaf)

    asyncio.run(main())


@case
def callback_in_a_c_thread():
    assert HELPER.helper_call_back_elsewhere(CALLBACK(lambda value: leaf() + value)) == 1


@case
def thread_of_c():
    if isinstance(SINK, sinks.Launches):
        arguments = SINK.without_frames()
        assert HELPER.helper_launch_elsewhere(SINK.driver.cuLaunchKernel, SINK.driver.cuCtxSetCurrent, SINK.context,
                                              arguments[0]) == 0
    else:
        assert HELPER.helper_walk_elsewhere(SINK.library.probe_walk, *SINK.without_frames()) == 0


@case
def finalizer():
    class Finalized:
        def __del__(self):
            leaf()

    Finalized()


@case
def garbage_collection():
    class Cycle:
        def __init__(self):
            self.self = self

        def __del__(self):
            by_partial(leaf)

    Cycle()
    gc.collect()


@case
def weak_reference():
    class Referent:
        pass

    referent = Referent()
    reference = weakref.ref(referent, lambda _: leaf())
    del referent
    return reference


@case
def signal_handler():
    before = signal.signal(signal.SIGUSR1, lambda number, frame: leaf())
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        for _ in range(10):
            pass
    finally:
        signal.signal(signal.SIGUSR1, before)


@case
def traced():
    def trace(frame, event, argument):
        return trace

    def lines():
        first = 1
        return leaf() + first

    sys.settrace(trace)
    try:
        lines()
    finally:
        sys.settrace(None)


@case
def module_import():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "gpuprof_case_module.py"), "w") as file:
            file.write("import __main__\n\n\nVALUE = __main__.leaf()\n")
        sys.path.insert(0, folder)
        sys.dont_write_bytecode = True
        try:
            importlib.invalidate_caches()
            importlib.import_module("gpuprof_case_module")
        finally:
            del sys.path[0]
            sys.modules.pop("gpuprof_case_module", None)


def page_out():
    """Asks the kernel to page out all memory that is not in use."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    pageout = 21
    with open("/proc/self/maps") as maps:
        for line in maps.read().splitlines():
            span, rights = line.split()[:2]
            begin, end = (int(part, 16) for part in span.split("-"))
            if "r" in rights and "[v" not in line:
                libc.madvise(begin, end - begin, pageout)


@case
def paged_out():
    def advised():
        call, note = SINK.call, SINK.note
        page_out()
        return call(*note())

    by_sorted(advised)


code_cases.add(case, leaf, lambda: SINK)


def run_all():
    for function in CASES:
        for variant in SINK.variants:
            if function is thread_of_c and variant == "held":
                continue  # the thread that waits for the C thread would hold the GIL
            SINK.variant = variant
            SINK.case = function.__name__
            function()


def main():
    global SINK, HELPER
    result, helper = sys.argv[1:3]
    HELPER = ctypes.CDLL(helper)
    SINK = sinks.Walks(sys.argv[3]) if len(sys.argv) > 3 else sinks.Launches()
    run_all()
    SINK.finish()
    with open("/proc/self/maps") as maps:
        libraries = sorted({line.split()[-1] for line in maps if "python" in line.split()[-1]})
    with open(result, "w") as file:
        json.dump({"version": sys.hexversion, "cases": SINK.cases, "libraries": libraries}, file)


if __name__ == "__main__":
    main()
