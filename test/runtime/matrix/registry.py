"""The rows of the matrix: functions that raise measure.Failed or measure.Skip. Their return value is printed."""

import collections
import importlib

Row = collections.namedtuple("Row", "number name only tries function")
_ROWS = []
MODULES = ("rows_work", "rows_time", "rows_processes", "rows_windows", "rows_trust")


def row(number, name, only=None, tries=1):
    """Decorator for a row. only: "mock" or "gpu" for a row that makes no sense on the other. tries: attempts for a row with
    time limits that a busy machine may miss."""

    assert 1 <= number <= 12, "CMakeLists.txt and matrix.py name the topics"

    def register(function):
        _ROWS.append(Row(number, name, only, tries, function))
        return function

    return register


def rows():
    for module in MODULES:
        importlib.import_module(module)
    return sorted(_ROWS, key=lambda each: each.number)
