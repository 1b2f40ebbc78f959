"""Finds the CPython interpreters of this machine."""

import collections
import functools
import glob
import os
import shutil
import subprocess

FIRST, LAST = (3, 9), (3, 14)

# `version`: (major, minor, micro).
Interpreter = collections.namedtuple("Interpreter", "path version free_threaded implementation")

QUESTION = ("import sys, sysconfig; import ctypes, asyncio, platform; "
            "print(*sys.version_info[:3], int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))), "
            "platform.python_implementation())")


def candidates():
    """Returns paths, which may be wrappers that start an interpreter. GPUPROF_TEST_PYTHONS adds paths, separated by ':'."""
    paths = [path for path in os.environ.get("GPUPROF_TEST_PYTHONS", "").split(":") if path]
    for minor in range(FIRST[1] - 1, LAST[1] + 2):
        paths.append(shutil.which(f"python3.{minor}"))
        paths.append(shutil.which(f"python3.{minor}t"))
    paths += sorted(glob.glob("/usr/bin/python3.*[0-9]")) + sorted(glob.glob("/usr/local/bin/python3.*[0-9]"))
    paths += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))
    return [path for path in paths if path and "/shims/" not in path]  # shims of pyenv run only its selected version


def ask(path):
    """Returns an Interpreter, or the reason why the path is not one."""
    try:
        run = subprocess.run([path, "-c", QUESTION], capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    words = run.stdout.decode("ascii", "replace").split()
    if run.returncode != 0 or len(words) != 5:
        return (run.stderr.decode("utf-8", "replace").strip().splitlines() or ["it does not run"])[-1]
    return Interpreter(path, tuple(map(int, words[:3])), words[3] == "1", words[4])


@functools.lru_cache(maxsize=None)
def found():
    """Returns [Interpreter], oldest first. Prints the reason for each path that is left out."""
    known, files = {}, set()
    for path in candidates():
        file = os.path.realpath(path)
        if file in files:
            continue
        files.add(file)
        answer = ask(path)
        if isinstance(answer, str):
            print(f"skipped: {path}: {answer}", flush=True)
        else:
            known[path] = answer
    for minor in range(FIRST[1], LAST[1] + 1):
        if not any(one.version[:2] == (3, minor) for one in known.values()):
            print(f"skipped: Python 3.{minor}: none found", flush=True)
    return sorted(known.values(), key=lambda one: one.version)


def followed():
    """Returns the interpreters that the stack engines support."""
    return [
        one for one in found()
        if FIRST <= one.version[:2] <= LAST and not one.free_threaded and one.implementation == "CPython"
    ]


def refused():
    return [one for one in found() if one not in followed()]


def some():
    """Returns the oldest and the newest, or all with GPUPROF_TEST_ALL_PYTHONS=1."""
    every = followed()
    return every if os.environ.get("GPUPROF_TEST_ALL_PYTHONS") == "1" or len(every) < 3 else [every[0], every[-1]]
