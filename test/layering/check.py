#!/usr/bin/env python3
"""Checks a source tree: its include lines against the table in its docs/architecture.md, and who opens files.

usage: check.py ROOT      prints one line for each fault; exit status 1 if there is one
"""

import pathlib
import re
import sys

SUFFIXES = {".h", ".hpp", ".c", ".cc", ".cpp", ".cu", ".S"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
TREES = ("src", "bpf", "injection", "test", "examples")

# Folders of injection/ that belong to no backend.
SHARED = ("base", "ipc", "nvtx", "python", "runtime", "stack")

# Third-party headers: a pattern of their names, and the path prefixes of files that may include them.
VENDOR_PLACES = ("test/mocks/", "test/runtime/drm/", "test/runtime/matrix/", "test/runtime/stacks/",
                 "test/unit/injection/", "test/bench/", "examples/")
FOREIGN = (
    (re.compile(r"CL/"), ("src/backend/opencl/", "injection/opencl/") + VENDOR_PLACES),
    # Headers in "cupti/" and "nvtx/" are gpuprof's, not NVIDIA's.
    (re.compile(r"(cuda|cupti(?!/)|nvtx(?!/)|nvml|generated_cuda)"), ("injection/cupti/api/abi_check.cpp",) + VENDOR_PLACES),
    (re.compile(r"(level_zero/|ze_api|zet_api)"),
     ("src/backend/level_zero/", "injection/level_zero/") + VENDOR_PLACES),
    (re.compile(r"(drm/|i915_drm|xe_drm)"), ("test/runtime/drm/",)),
    (re.compile(r"bpf/"), ("src/libbpf/", "src/backend/drm/", "src/record/bpf/", "bpf/")),
    (re.compile(r"CLI/"), ("src/cmd/", "src/main.cpp", "test/unit/cmd/")),
    (re.compile(r"re2/"), ("src/base/text/pattern.cpp",)),
    (re.compile(r"nlohmann/"), ("src/output/", "src/cmd/", "test/unit/output/")),
)

# Only src/base/files opens files, because it checks the kind of a file first. OPENS matches the other calls: open() of
# the C library has an `O_` argument, or `::` before it. gpuprof's own functions named open() have neither.
OPENERS = "src/base/files/"
OPENS = re.compile(r"(?<![\w>])::open\(|(?<![\w.>:])open\((?=[^;]*\bO_[A-Z])"
                   r"|\b(?:openat2?|creat|fopen|freopen|mkdir(?:at)?|rename(?:at2?)?)\("
                   r"|\b(?:basic_)?[io]?fstream\b|\bcreate_director(?:y|ies)\(")
COMMENT = re.compile(r"//.*")


def read_table(root):
    """Returns {folder or file: the folders and headers that it may include}, as the last column of the table lists them."""
    table = {}
    text = (root / "docs/architecture.md").read_text(encoding="utf-8")
    section = text.split("## Who may include whom", 1)[-1].split("\n## ", 1)[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        place = re.fullmatch(r"`([^`]+)`", cells[0])
        if len(cells) == 3 and place:
            table[place.group(1)] = set(re.findall(r"`([^`]+)`", cells[2]))
    return table


def place_of(path, table):
    """Returns the table row of a file, or None: tests and examples have no row."""
    if path in table:
        return path
    parts = path.split("/")
    for length in (4, 3, 2, 1):
        place = "/".join(parts[:length])
        if len(parts) > length and place in table:
            return place
    return None


def backend_of(path):
    """Returns the backend of a file ('opencl' for src/backend/opencl/x.cpp and injection/opencl/x.cpp), or None."""
    match = re.match(r"(?:src/backend|injection)/([^/]+)/", path)
    return match.group(1) if match and match.group(1) not in SHARED else None


def may_include(name, own, allowed):
    """Returns whether a row allows a header, by its name or its folder. A folder may include its own headers."""
    parts = name.split("/")
    above = {"/".join(parts[:length]) for length in range(1, len(parts))}
    return name in allowed or own in above or bool(above & allowed)


def check_quoted(root, path, name, place, table):
    """Returns the fault of an include of a gpuprof header, or None."""
    if name.startswith(("/", ".")) or ".." in name.split("/"):
        return "is not written as \"folder/file.h\""
    allowed = table[place]
    if place.startswith("src"):
        if "/" not in name or not (root / "src" / name).is_file():
            return "is not a header under src/"
        if place_of("src/" + name, table) != place and not may_include(name, place.removeprefix("src/"), allowed):
            return f"is not allowed in {place} (docs/architecture.md)"
        other = backend_of("src/" + name)
        if other and other != backend_of(path) and path != "src/backend/registry.cpp":
            return "reaches into a backend's folder"
        return None
    beside = (root / path).parent / name
    inside = "injection/" + name
    if place.startswith("injection") and (root / inside).is_file():
        if place != "injection" and place_of(inside, table) != place and not may_include(inside, place, allowed):
            return f"is not allowed in {place} (docs/architecture.md)"
        other = backend_of(inside)
        return "reaches into another backend's folder" if other and other != backend_of(path) else None
    if beside.is_file() or (root / place / name).is_file():
        return None
    if may_include(name, place, allowed) and (root / "src" / name).is_file():
        return None
    return f"is not allowed in {place} (docs/architecture.md)"


def check_foreign(path, name):
    for pattern, places in FOREIGN:
        if pattern.match(name) and not path.startswith(places):
            return "is a header of others that has no business here"
    return None


def check_file(root, path, table):
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    place = place_of(path, table)
    for match in INCLUDE.finditer(text):
        kind, name = match.groups()
        fault = check_foreign(path, name)
        if fault is None and kind == '"' and place is not None:
            fault = check_quoted(root, path, name, place, table)
        if fault is not None:
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: \"{name}\" {fault}"
    if path.startswith("src/") and not path.startswith(OPENERS):
        code = COMMENT.sub("", text)
        for match in OPENS.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {match.group().rstrip('(')}: use a function of {OPENERS}safe_open.h"


def check_tree(root):
    root = pathlib.Path(root)
    table = read_table(root)
    faults = []
    for folder in sorted({p.relative_to(root).as_posix() for p in (root / "src").iterdir()}):
        if folder != "src/CMakeLists.txt" and folder not in table:
            faults.append(f"{folder}: has no row in the table of docs/architecture.md")
    for tree in TREES:
        for file in sorted((root / tree).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                faults.extend(check_file(root, file.relative_to(root).as_posix(), table))
    return faults


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    faults = check_tree(sys.argv[1])
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(1)
    print("layering: every include agrees with docs/architecture.md, and only src/base/files opens files")


if __name__ == "__main__":
    main()
