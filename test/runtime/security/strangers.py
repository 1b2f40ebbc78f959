"""Two local users without rights, created while a test program runs. The security tests attack as these users."""

import atexit
import functools
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

PREFIX = "gpuprof-t"  # followed by the pid of the test program and a letter


class User:
    """A local user. `run` and `start` take the arguments of subprocess.run and Popen, and act as this user."""

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
        """Runs Python code as this user."""
        return self.run([sys_python(), "-c", code, *arguments], **options)


@functools.lru_cache(maxsize=None)
def sys_python():
    """Returns a Python that every user can start: that of the tests may be in root's home."""
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def why_not():
    """Returns None if users can be created, else the reason for a skip."""
    if os.geteuid() != 0:
        return "not root: two users are needed"
    missing = [program for program in ("useradd", "userdel") if not shutil.which(program)]
    return f"no program {missing[0]} (package passwd)" if missing else None


def _remove(name):
    subprocess.run(["userdel", "--force", name], capture_output=True, check=False)


def _remove_stale():
    """Removes the users that a killed test program has left."""
    for entry in pwd.getpwall():
        match = re.fullmatch(PREFIX + r"(\d+)[a-z]", entry.pw_name)
        if match and not os.path.exists(f"/proc/{match.group(1)}"):
            _remove(entry.pw_name)


@functools.lru_cache(maxsize=None)
def user(letter):
    """Creates a user for this test program, with `letter` at the end of its name. The user is removed when the program ends."""
    name = f"{PREFIX}{os.getpid()}{letter}"
    if letter == "a":
        _remove_stale()
    subprocess.run(["useradd", "--system", "--no-create-home", "--shell", "/bin/sh", name], check=True)
    atexit.register(_remove, name)
    return User(name)


def command_of(pid):
    """Returns the name of a process's program, or None."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def victim():
    """Returns the user whose program is recorded, or whose files are attacked."""
    return user("a")


def stranger():
    """Returns the attacking user."""
    return user("b")


def needed(test):
    """Decorator of a test: skips it, with the reason, if users cannot be created."""

    @functools.wraps(test)
    def wrapper(self):
        reason = why_not()
        if reason:
            self.skipTest(reason)
        test(self)

    return wrapper


class Scratch(tempfile.TemporaryDirectory):
    """A folder below a temporary folder that every user may enter. With sticky=True all may also write, as in /tmp."""

    def __init__(self, sticky=False):
        super().__init__(prefix="gpuprof-security-")
        os.chmod(self.name, 0o1777 if sticky else 0o755)
