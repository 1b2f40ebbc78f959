"""Walks in a sub-interpreter with the GIL held and released, and after the sub-interpreter has ended.

    subinterpreter.py PROBE

Prints JSON: {case: [walk, truncated]}, the walk as names, innermost first; or {"skipped": reason}.
"""

import ctypes
import json
import sys

PROBE = sys.argv[1]

SCRIPT = """
import ctypes
def within(variant):
    def innermost():
        library = (ctypes.CDLL if variant == "released" else ctypes.PyDLL)({probe!r})
        library.probe_walk(("within_" + variant).encode(), 0)
    innermost()
within("released")
within("held")
"""


def interpreters():
    """Returns the functions (create, run, destroy) of this Python version for sub-interpreters."""
    try:
        import _interpreters
        return lambda: _interpreters.create("legacy"), _interpreters.exec, _interpreters.destroy
    except ImportError:
        import _xxsubinterpreters
        create = _xxsubinterpreters.create
        try:
            create(isolated=False)
            return lambda: create(isolated=False), _xxsubinterpreters.run_string, _xxsubinterpreters.destroy
        except TypeError:
            return create, _xxsubinterpreters.run_string, _xxsubinterpreters.destroy


def walk(library, name):
    text = library.probe_text(name.encode())
    lines = [] if text is None else text.decode("ascii").splitlines()
    names = [bytes.fromhex(line.split()[0].strip("-")).decode() for line in lines[:-1]]
    return [names, "truncated 1" in (lines or ["truncated 1"])[-1]]


def outside(library, name):
    library.probe_walk(name.encode(), 0)


def main():
    library = ctypes.CDLL(PROBE)
    library.probe_text.restype = ctypes.c_char_p
    try:
        create, run, destroy = interpreters()
    except ImportError as error:
        print(json.dumps({"skipped": str(error)}))
        return
    outside(library, "before")

    def calling():
        identity = create()
        failed = run(identity, SCRIPT.format(probe=PROBE))
        if failed is not None:
            raise RuntimeError(failed)
        outside(library, "beside")
        destroy(identity)

    calling()
    outside(library, "after")
    names = ("before", "within_released", "within_held", "beside", "after")
    print(json.dumps({name: walk(library, name) for name in names}))


main()
