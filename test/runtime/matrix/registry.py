"""The rows of the matrix: functions that raise measure.Failed or measure.Skip. What they return is printed."""

import collections
import importlib

Row = collections.namedtuple("Row", "number name only function")
_ROWS = []
MODULES = ("rows_work", "rows_time", "rows_processes", "rows_windows", "rows_trust")


def row(number, name, only=None):
    """Decorator. only: "mock" or "gpu" for a row that makes no sense on the other."""

    def register(function):
        _ROWS.append(Row(number, name, only, function))
        return function

    return register


def rows():
    for module in MODULES:
        importlib.import_module(module)
    return sorted(_ROWS, key=lambda each: each.number)
