"""Two local users without rights, made for the time of a test program: what the security tests attack with."""

import atexit
import functools
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

PREFIX = "gpuprof-t"  # the pid of the program that made them follows, then a letter


class User:
    """A local user. `run` and `start` take what subprocess.run and Popen take, and act as this user."""

    def __init__(self, name):
        entry = pwd.getpwnam(name)
        self.name, self.uid, self.gid = name, entry.pw_uid, entry.pw_gid

    def _rights(self):
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def run(self, command, **options):
        return subprocess.run(command, **{**self._rights(), "check": False, **options})

    def start(self, command, **options):
        return subprocess.Popen(command, **{**self._rights(), **options})

    def python(self, code, *arguments, **options):
        """Runs a Python text as this user."""
        return self.run([sys_python(), "-c", code, *arguments], **options)


@functools.lru_cache(maxsize=None)
def sys_python():
    """A Python that every user can start: the one that runs the tests may lie in root's home."""
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def why_not():
    """None where users can be made, else the reason for a skip."""
    if os.geteuid() != 0:
        return "not root: two users are needed"
    missing = [program for program in ("useradd", "userdel") if not shutil.which(program)]
    return f"no program {missing[0]} (package passwd)" if missing else None


def _remove(name):
    subprocess.run(["userdel", "--force", name], capture_output=True, check=False)


def _remove_stale():
    """What a killed test program left."""
    for entry in pwd.getpwall():
        match = re.fullmatch(PREFIX + r"(\d+)[a-z]", entry.pw_name)
        if match and not os.path.exists(f"/proc/{match.group(1)}"):
            _remove(entry.pw_name)


@functools.lru_cache(maxsize=None)
def user(letter):
    """The test program's user of that letter; removed when the program ends."""
    name = f"{PREFIX}{os.getpid()}{letter}"
    if letter == "a":
        _remove_stale()
    subprocess.run(["useradd", "--system", "--no-create-home", "--shell", "/bin/sh", name], check=True)
    atexit.register(_remove, name)
    return User(name)


def command_of(pid):
    """The name of a process's program, or None."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def victim():
    """The user whose program is recorded, or whose files are at stake."""
    return user("a")


def stranger():
    """Another one."""
    return user("b")


def needed(test):
    """Decorator of a test: skips it, with the reason, where users cannot be made."""

    @functools.wraps(test)
    def wrapper(self):
        reason = why_not()
        if reason:
            self.skipTest(reason)
        test(self)

    return wrapper


class Scratch(tempfile.TemporaryDirectory):
    """A folder below a temporary one that every user may enter; with sticky=True everybody may also write, as in /tmp."""

    def __init__(self, sticky=False):
        super().__init__(prefix="gpuprof-security-")
        os.chmod(self.name, 0o1777 if sticky else 0o755)
