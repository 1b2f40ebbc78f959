#!/usr/bin/env python3
"""Finds names that two sources of a group define in anonymous namespaces: GPUPROF_UNITY compiles them as one file.

usage: group_names.py ROOT      prints a line for each such name; exit status 1 if there is one

The compiler rejects most such names. But two functions with different parameters would silently become overloads.
"""

import collections
import pathlib
import re
import sys

PROCESSORS = ("x86_64", "aarch64")

# clang-format puts definitions of a namespace at the beginning of a line.
TYPE = re.compile(r"(?:template <.*> *)?(?:struct|class|enum class|enum|union) (\w+)(?: final)?(?: :[^:].*)? \{")
OTHER = re.compile(r"(?:[\w:<>,*&\[\] ]+?[ *&])(\w+)(?:\(|\[|\{| = |;)")


def names_of(text):
    inside, names = False, set()
    for line in text.splitlines():
        if line == "namespace {":
            inside = True
        elif line == "}  // namespace":
            inside = False
        elif inside and re.match(r"[A-Za-z\[]", line) and not line.startswith(("using ", "namespace ", "template <")):
            found = TYPE.match(line) or OTHER.match(line)
            if found:
                names.add(found.group(1))
    return names


def group_of(path):
    """Returns the group of a path below the root: its library of src/, or its unit test program."""
    parts = path.parts
    if parts[0] == "src" and len(parts) > 2:
        return parts[:2]
    return parts[:3] if parts[:2] == ("test", "unit") and path.name.endswith("_test.cpp") else None


def built_for(processor, paths):
    """Returns the paths without those of other processors, which are never compiled together."""
    return [path for path in paths if not any(f"_{other}" in path for other in PROCESSORS if other != processor)]


def faults(root):
    places = collections.defaultdict(list)
    for tree in ("src", "test/unit"):
        for file in sorted((root / tree).rglob("*.cpp")):
            path = file.relative_to(root)
            if group_of(path):
                for name in names_of(file.read_text(encoding="utf-8", errors="replace")):
                    places[group_of(path), name].append(path.as_posix())
    for (_, name), paths in sorted(places.items()):
        if any(len(built_for(processor, paths)) > 1 for processor in PROCESSORS):
            yield f"{name}: defined in the anonymous namespaces of {' and '.join(paths)}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) if found else "group names: no group defines a name twice")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
