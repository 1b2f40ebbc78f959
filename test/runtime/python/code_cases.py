"""Code objects that are unusual: their names, their addresses, the length of their line tables."""

import functools
import sys
import types


def renamed(function, name, file=None):
    changes = {"co_name": name}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = "outer.<locals>." + name
    if file is not None:
        changes["co_filename"] = file
    return types.FunctionType(function.__code__.replace(**changes), function.__globals__)


def plain(f):
    return f()


def far_apart(leaf):
    values = []










































































































































    values.append(
        leaf(

            1,









            2))
    return values


def add(case, leaf, sink):
    """Defines the cases with the decorator `case`. leaf() launches under the name of the case, as set in sink()."""

    @case
    def odd_names():
        names = ["näme", "日本語", "𝔘𝔫𝔦", "semi;colon", "line\nfeed", "tab\tand space", "x" * 3000, "é" * 1500,
                 "日" * 1000]
        f = leaf
        for index, name in enumerate(names):
            file = "/tmp/ordner-ü;{}/datei\udcff.py".format(index)
            f = functools.partial(renamed(plain, name, file), f)
        return f()

    @case
    def reused_addresses():
        """Makes short-lived code objects: the next one often has the address of the last one."""
        first = sink().case
        for index in range(30):
            sink().case = "{}_{}".format(first, index)
            eval(compile("(lambda:{}leaf())()".format("\n" * (index * 7 % 11)), "<same>", "eval"),
                 {"leaf": leaf})

    @case
    def far_lines():
        far_apart(leaf)

    @case
    def long_code():
        scope = {"leaf": leaf}
        lines = ["def run(a=1):"] + ["    a = (a + {}) % 7 * (a or 1) - len([a, a])".format(i) for i in range(3000)]
        exec(compile("\n".join(lines + ["    return leaf()", "run()"]), "<long>", "exec"), scope)
