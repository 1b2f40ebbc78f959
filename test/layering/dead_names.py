#!/usr/bin/env python3
"""Finds public names without a user: dead_names.py ROOT

A class, function, constant or alias that a header of src/, injection/ or bpf/ declares must have a user. Users are:
- a product file outside the header's own group (NAME.h, NAME.cpp, NAME_x86_64.cpp ...)
- another declaration in its header, such as the type of a parameter
- its own .cpp together with a test, for an internal function that a test calls directly.
Move a function that only its own .cpp uses into that file. A name that only tests use is dead, unless the comment above it
says "for tests". The check compares words, not meanings. It finds members with common names (size, begin) everywhere, so
it misses some dead names but reports few live ones.
"""

import collections
import pathlib
import re
import sys

FOLDERS = ("src", "injection", "bpf")
SUFFIXES = (".h", ".cpp", ".c")
# These files copy third-party interfaces, so names in them may have no user.
FOREIGN = re.compile(r"injection/cupti/api/|bpf/vmlinux_min\.h|src/backend/drm/stalls/xe_uapi\.h")

TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|::|->|\S")
WORD = re.compile(r"[A-Za-z_]\w*")
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.S)
NO_FUNCTIONS = {"if", "for", "while", "switch", "return", "sizeof", "alignas", "decltype", "noexcept", "static_assert",
                "_Static_assert", "__attribute__", "requires", "explicit", "operator", "defined", "throw"}
TYPES = {"class", "struct", "union", "enum"}


def without_templates(tokens):
    """Returns the tokens without template arguments."""
    out, depth = [], 0
    for at, token in enumerate(tokens):
        if token == "<" and at > 0 and WORD.fullmatch(tokens[at - 1]):
            depth += 1
        elif token == ">" and depth > 0:
            depth -= 1
        elif depth == 0:
            out.append(token)
    return out


def declared_by(statement, in_class):
    """Returns the public name of a declaration at namespace or class level, or None for overrides and definitions."""
    tokens = without_templates(statement)
    if not tokens or tokens[0] in ("friend", "static_assert", "extern") or "operator" in tokens or "override" in tokens:
        return None
    if "using" in tokens[:1]:
        return tokens[1] if len(tokens) > 2 and tokens[2] == "=" else None
    if "typedef" in tokens[:1]:
        return tokens[-1]
    kinds = [at for at, token in enumerate(tokens) if token in TYPES]
    if "(" in tokens:
        at = tokens.index("(")
        name = tokens[at - 1] if at > 0 else ""
        typed = at > 1 and (WORD.fullmatch(tokens[at - 2]) or tokens[at - 2] in "&*>]")
        return name if typed and WORD.fullmatch(name) and name not in NO_FUNCTIONS else None
    if kinds and len(tokens) <= kinds[0] + 2:
        return None  # a forward declaration
    if "constexpr" in tokens or ("const" in tokens and not in_class):
        before = [at for at, token in enumerate(tokens) if token in ("=", "[", "{")]
        name = tokens[before[0] - 1] if before else tokens[-1]
        return name if WORD.fullmatch(name) else None
    return None


def declarations(text):
    """Returns [(name, line, "type", "value", "function" or "prototype")] of declarations outside function bodies."""
    code = NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m.group()), code, flags=re.M)
    found, scopes, statement, line, began, private = [], [], [], 1, 1, [False]
    position, skip = 0, 0

    def note():
        name = declared_by([t for t in statement if t != "{" or "constexpr" in statement], bool(scopes) and scopes[-1] in TYPES)
        if name and not private[-1]:
            kind = "value" if "(" not in statement else "prototype" if "{" not in statement else "function"
            found.append((name, began, kind))

    for match in TOKEN.finditer(code):
        line += code.count("\n", position, match.start())
        position = match.start()
        token = match.group()
        if skip:
            skip += (token == "{") - (token == "}")
            continue
        if not statement:
            began = line
        if token == "{":
            plain = without_templates(statement)
            kind = next((t for t in plain if t in TYPES or t in ("namespace", "extern")), None)
            if kind and "(" not in plain and "=" not in plain:
                if kind in TYPES:
                    names = [t for t in plain[plain.index(kind) + 1:] if WORD.fullmatch(t) and t not in ("class", "final")]
                    if names and not private[-1] and (kind != "enum" or "class" in plain):
                        found.append((names[0], line, "type"))
                if kind == "enum":
                    skip = 1
                    statement = statement + ["{}"]
                    continue
                scopes.append(kind)
                private.append(private[-1] or kind == "class")
                statement = []
            else:
                skip = 1
                statement.append("{")
            continue
        if token == "}":
            if statement and statement[-1] == "{":
                note()
            if scopes:
                scopes.pop()
                private.pop()
            statement = []
            continue
        if token == ":" and statement and statement[-1] in ("public", "private", "protected"):
            private[-1] = statement[-1] == "private"
            statement = []
            continue
        ends_body = statement and statement[-1] == "{" and token not in (";", ",", ")")
        if token == ";" or ends_body:
            note()
            statement = [] if token == ";" else [token]
            continue
        statement.append(token)
    return found


def pair_of(path):
    """Returns the common stem of NAME.h, NAME.cpp and NAME_x86_64.cpp."""
    return re.sub(r"(_x86_64|_aarch64)?\.(h|cpp|c|bpf\.c)$", "", path)


def product_files(root):
    for folder in FOLDERS:
        for path in sorted(pathlib.Path(root, folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield str(path.relative_to(root)), path.read_text(encoding="utf-8", errors="replace")


def counts(text):
    return collections.Counter(WORD.findall(NO_CODE.sub(" ", text)))


def for_tests(text, line):
    """Returns whether the comment above the line says "for tests"."""
    above = text.splitlines()[max(line - 2, 0)]
    return above.lstrip().startswith("//") and "for tests" in above


def dead_names(root):
    """Returns ["FILE:LINE: NAME ..."], ordered by file."""
    files = dict(product_files(root))
    words = {path: counts(text) for path, text in files.items()}
    users = {}  # word: the files that contain it
    for path in files:
        for word in words[path]:
            users.setdefault(word, set()).add(path)
    sources = {}  # stem: its files that are not headers
    for path in files:
        if not path.endswith(".h"):
            sources.setdefault(pair_of(path), []).append(path)
    tested = set()
    for path in pathlib.Path(root, "test").rglob("*"):
        if path.suffix in SUFFIXES:
            tested.update(WORD.findall(path.read_text(encoding="utf-8", errors="replace")))
    faults = []
    for path, text in files.items():
        if not path.endswith(".h") or FOREIGN.match(path):
            continue
        own = sources.get(pair_of(path), [])
        for name, line, kind in declarations(text):
            if users.get(name, set()) - {path, *own} or words[path][name] > 1 or for_tests(text, line):
                continue
            # The definition itself is not a use.
            used = sum(words[other][name] for other in own) > (1 if kind == "prototype" else 0)
            if not used:
                faults.append(f"{path}:{line}: {'only tests use' if name in tested else 'nothing uses'} {name}")
            elif kind == "prototype" and name not in tested:
                faults.append(f"{path}:{line}: only {own[0]} uses {name}: move it there")
    return faults


def main():
    faults = dead_names(sys.argv[1])
    for fault in faults:
        print(fault)
    if not faults:
        print("dead names: every public name has a user")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
