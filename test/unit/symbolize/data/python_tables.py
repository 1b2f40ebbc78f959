"""Prints the line tables of code that the running interpreter compiles, and the line of each instruction as the
interpreter itself reports it. python_lines_test.cpp compares its results with these lines.

Prints one line for each code object: PY_VERSION_HEX, first line, table in hex, OFFSET:LINE,... for each instruction whose
line differs from the previous instruction's (0: no line), size of the code.

    python_tables.py              prints the tables of python_sample.py, which lies beside this file
    python_tables.py MODULE...    prints the tables of modules of the standard library
"""

import ctypes
import os
import sys
import types


def codes_in(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def table_of(code):
    if sys.version_info < (3, 10):
        return code.co_lnotab
    return code.co_linetable


def describe(code):
    line_of = ctypes.pythonapi.PyCode_Addr2Line
    line_of.argtypes = [ctypes.py_object, ctypes.c_int]
    size = len(code.co_code)
    changes = []
    last = None
    for offset in range(0, size, 2):
        line = max(line_of(code, offset), 0)
        if line != last:
            changes.append("%d:%d" % (offset, line))
            last = line
    table = table_of(code).hex() or "-"
    return "%x %d %s %s %d" % (sys.hexversion, code.co_firstlineno, table, ",".join(changes), size)


def source_of(module):
    path = os.path.join(os.path.dirname(os.__file__), *module.split(".")) + ".py"
    with open(path, encoding="utf-8") as file:
        return file.read(), path


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    modules = sys.argv[1:]
    sources = [source_of(module) for module in modules]
    if not modules:
        with open(os.path.join(here, "python_sample.py"), encoding="utf-8") as file:
            sources = [(file.read(), "python_sample.py")]
    for text, path in sources:
        for code in codes_in(compile(text, path, "exec")):
            print(describe(code))


main()
