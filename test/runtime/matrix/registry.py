"""The rows of the matrix: functions that raise measure.Failed or measure.Skip. What they return is printed."""

import collections
import importlib

Row = collections.namedtuple("Row", "number name only tries function")
_ROWS = []
MODULES = ("rows_work", "rows_time", "rows_processes", "rows_windows", "rows_trust")


def row(number, name, only=None, tries=1):
    """Decorator. only: "mock" or "gpu" for a row that makes no sense on the other. tries: the best of so many, for
    bounds on time that other work on the machine may break."""

    assert 1 <= number <= 12, "CMakeLists.txt and matrix.py name the topics"

    def register(function):
        _ROWS.append(Row(number, name, only, tries, function))
        return function

    return register


def rows():
    for module in MODULES:
        importlib.import_module(module)
    return sorted(_ROWS, key=lambda each: each.number)
