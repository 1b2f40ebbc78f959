"""Runs other kernels in QEMU: unpacks Debian packages without installing them, and boots with an initial RAM disk.

apt-get fetches packages into a separate folder, so the machine's package lists stay as they are. The folder is kept. It
is $GPUPROF_KERNEL_CACHE, or gpuprof-kernels in the folder for temporary files.
"""

import contextlib
import fcntl
import lzma
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOLS = ["busybox", "cpio", "gzip", "dpkg-deb", "apt-get", "apt-cache"]
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# CPU mitigations and zeroed pages are switched off, as they only cost time in these tests.
KERNEL_OPTIONS = "panic=-1 quiet mitigations=off init_on_alloc=0"

# The beginning of /init in each virtual machine.
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /root
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t tmpfs tmp /tmp
/bin/busybox mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
/bin/busybox ip link set lo up 2>/dev/null
export HOME=/root GPUPROF_UNWIND_CACHE= GPUPROF_DEBUG_BPF=1
echo "KERNEL $(/bin/busybox uname -r)"
"""
POWEROFF = "/bin/busybox poweroff -f\n"
# `section NAME` in a script begins a part of the machine's output.
SECTIONS = r"""
section() { echo "=== $1"; }
"""


class Machine:
    """A processor that QEMU emulates. `root`: a folder with packages of that architecture (scripts/root-aarch64), or None
    for programs and libraries of this machine."""

    def __init__(self, qemu, package, debian, arguments, kernel_options, prefix="", root=None):
        self.qemu, self.package, self.debian, self.arguments = qemu, package, debian, arguments
        self.kernel_options, self.prefix, self.root = kernel_options, prefix, root

    def busybox(self):
        return self.root / "bin/busybox" if self.root else shutil.which("busybox")

    def libraries_of(self, program):
        """Returns {path in the machine: path here} of the program's shared libraries and loader, and of the library that
        backtrace() opens."""
        if self.root is None:
            found = re.findall(r"(?:=>\s+|^\s+)(/\S+)\s+\(0x", run(["ldd", str(program)]), re.M)
            beside_libc = next(Path(library).parent for library in found if "/libc.so" in library)
            return {library: library for library in [*found, str(beside_libc / "libgcc_s.so.1")]}
        folder = Path("/usr/lib") / f"{self.debian}-linux-gnu".replace("arm64", "aarch64")
        found, left = {}, [program]
        while left:
            for name in [*re.findall(r"NEEDED.*\[(.*)\]", run(["readelf", "-d", str(left.pop())])), "libgcc_s.so.1"]:
                here = self.root / str(folder / name).lstrip("/")
                if str(folder / name) not in found and here.exists():
                    found[str(folder / name)] = here
                    left.append(here)
        loader = re.search(r"interpreter: (\S+)\]", run(["readelf", "-l", str(program)])).group(1)
        found[loader] = self.root / loader.lstrip("/")
        return found


# Without cx16: QEMU 7.2 sets wrong flags for cmpxchg16b, so newer kernels that use this instruction crash.
CPU = "qemu64,-cx16"


def x86_64():
    return Machine("qemu-system-x86_64", "qemu-system-x86", "amd64", ["-cpu", CPU], "console=ttyS0 no_timer_check")


def aarch64():
    # pauth-impdef: signatures of addresses by a fast function.
    root = Path(os.environ.get("GPUPROF_ROOT_AARCH64") or
                Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuprof/root-aarch64")
    return Machine("qemu-system-aarch64", "qemu-system-arm", "arm64",
                   ["-machine", "virt", "-cpu", "max,pauth-impdef=on"], "console=ttyAMA0", "aarch64-linux-gnu-", root)


class Skipped(Exception):
    pass


class Panicked(Exception):
    """The guest's kernel panicked. The fault lies in the kernel, QEMU or a BPF program, not in a test."""


def run(arguments, **options):
    return subprocess.run(arguments, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options).stdout


def missing_tools(more=(), machine=None):
    """Returns the reason why no virtual machine can run here, or None."""
    machine = machine or x86_64()
    missing = [tool for tool in [machine.qemu, *TOOLS, *more] if shutil.which(tool) is None]
    if not missing and machine.root and not machine.busybox().exists():
        return f"no arm64 packages in {machine.root}: run ./setup.sh cross"
    return f"not installed: {' '.join(missing)} (packages {machine.package} busybox-static cpio)" if missing else None


def cache_folder():
    return Path(os.environ.get("GPUPROF_KERNEL_CACHE") or Path(tempfile.gettempdir()) / "gpuprof-kernels")


@contextlib.contextmanager
def cache_to_itself():
    """Locks the cache folder against tests that run at the same time: apt locks its folders without waiting."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with open(cache_folder() / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def debian_mirror():
    """Returns the archive of this machine's apt configuration."""
    for path in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        if not path.is_file():
            continue
        for word in path.read_text(errors="replace").split():
            if re.match(r"https?://\S+/debian/?$", word):
                return word
    raise Skipped("this machine's package sources name no Debian archive")


class Archive:
    """Runs apt for one suite, with its own configuration."""

    def __init__(self, folder, mirror, suite, architecture="amd64"):
        self.folder = folder / (suite if architecture == "amd64" else f"{suite}-{architecture}")
        (self.folder / "state/lists/partial").mkdir(parents=True, exist_ok=True)
        (self.folder / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        (self.folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror} {suite} main\n")
        self.options = [f"-oDir::Etc::sourcelist={self.folder}/sources.list", "-oDir::Etc::sourceparts=/nonexistent",
                        f"-oDir::State={self.folder}/state", f"-oDir::State::status={self.folder}/status",
                        f"-oDir::Cache={self.folder}/cache", f"-oAPT::Architecture={architecture}",
                        f"-oAPT::Architectures={architecture}",
                        "-oAPT::Sandbox::User=root"]

    def update(self):
        run(["apt-get", *self.options, "-q", "update"])

    def shown(self, package):
        return run(["apt-cache", *self.options, "show", "--no-all-versions", package])

    def depended(self, package, pattern):
        """Returns the first dependency of `package` that matches, or None."""
        found = re.search(rf"^Depends: .*?({pattern})", self.shown(package), re.M)
        return found.group(1) if found else None

    def unpacked(self, package, target=None, but=()):
        """Returns the folder with the unpacked package. Files that match a pattern in `but` are removed."""
        target = target or self.folder / package
        done = target / f".has-{package}"
        if not done.exists():
            run(["apt-get", *self.options, "-q", "download", package], cwd=self.folder)
            deb = next(self.folder.glob(f"{package}_*.deb"))
            run(["dpkg-deb", "-x", str(deb), str(target)])
            deb.unlink()
            for pattern in but:
                for path in target.glob(pattern):
                    shutil.rmtree(path)
            done.touch()
        return target


def newest_kernel(archive):
    """Returns (release, folder with its image and modules). Newer suites have both in separate packages."""
    package = archive.depended("linux-image-amd64", r"linux-image-[0-9]\S+-amd64")
    if package is None:
        raise Skipped("no linux-image-amd64 in this suite")
    release = package.removeprefix("linux-image-")
    folder = archive.unpacked(package)
    for part in ("linux-binary", "linux-modules"):
        if not list(folder.rglob("vmlinuz*" if part == "linux-binary" else "*.ko*")):
            archive.unpacked(f"{part}-{release}", folder)
    return release, folder


class Modules:
    """The modules of an unpacked kernel, and their dependencies."""

    def __init__(self, folder):
        self.files = {}
        for path in folder.rglob("*.ko*"):
            self.files[path.name.split(".ko")[0].replace("-", "_")] = path

    def content(self, name):
        path = self.files[name]
        data = path.read_bytes()
        return lzma.decompress(data) if path.suffix == ".xz" else data

    def with_needed(self, names):
        """Returns {name: content}, in loading order."""
        ordered = {}

        def add(name):
            if name in ordered:
                return
            content = self.content(name)
            needed = re.search(rb"\0depends=([^\0]*)\0", content)
            for other in needed.group(1).decode().split(",") if needed else []:
                if other:
                    add(other.replace("-", "_"))
            ordered[name] = content

        for name in names:
            add(name)
        return ordered


def libraries_of(program):
    """Returns the paths of libraries of a program of this machine."""
    return list(x86_64().libraries_of(program))


def make_initrd(target, init, programs, files=None, machine=None):
    """Makes an initial RAM disk. `init`: script that /init runs after INIT. `programs`: {name in /: path}, added with their
    libraries. `files`: {name: bytes}."""
    machine = machine or x86_64()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "bin").mkdir()
        shutil.copy(machine.busybox(), root / "bin/busybox")
        for place, program in programs.items():
            run([machine.prefix + "strip", "--strip-debug", "-o", str(root / place), str(program)])
            for library, here in machine.libraries_of(program).items():
                copy = root / library.lstrip("/")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(here, copy)
        for place, content in (files or {}).items():
            path = root / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755)
        (root / "init").write_text(INIT + init + POWEROFF)
        (root / "init").chmod(0o755)
        names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
        with open(target, "wb") as out:
            cpio = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(),
                                  stdout=subprocess.PIPE, check=True)
            subprocess.run(["gzip", "-1"], input=cpio.stdout, stdout=out, check=True)


def boot(kernel, initrd, seconds, more=(), machine=None):
    """Returns all output of the machine until it is off, without control characters. `more`: arguments of QEMU.

    The machine has one processor. Its clock counts executed instructions (-icount, 1 ns each) and jumps ahead while the
    processor waits for a timer. So a run does not depend on how busy this machine is. A second processor would make the
    kernel's own code patching unsafe: QEMU before 8.1 may run a breakpoint that the kernel has already removed.

    Raises Panicked if the guest's kernel panics, with the kernel's last lines.
    """
    machine = machine or x86_64()
    command = [machine.qemu, *machine.arguments, "-accel", "tcg", "-icount", "shift=0,sleep=off", "-rtc", "clock=vm",
               "-m", "1024", "-smp", "1", "-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio",
               "-kernel", str(kernel), "-initrd", str(initrd), "-append",
               f"{machine.kernel_options} {KERNEL_OPTIONS}", *more]
    try:
        output = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                timeout=seconds, check=False).stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"").decode(errors="replace") + "\nTIMEOUT\n"
    output = re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|c)|\r", "", output)
    if "Kernel panic" in output:
        lines = output.split("\n")
        last = next(number for number, line in enumerate(lines) if "Kernel panic" in line)
        raise Panicked("the guest's kernel panicked:\n" + "\n".join(lines[max(0, last - 60) : last + 1]))
    return output


def sections_in(output):
    """Returns {name: lines} of what a machine printed."""
    return {part.split("\n", 1)[0]: part.split("\n")[1:] for part in re.split(r"^=== ", output, flags=re.M)}


def sections_of(run_machine):
    """Returns what run_machine() returns, for a setUpClass(). Skips the class if no machine can run. Fails if the machine did
    not finish."""
    try:
        sections = run_machine()
    except Skipped as reason:
        raise unittest.SkipTest(str(reason)) from reason
    if "end" not in sections:
        raise AssertionError("the machine did not come to its end:\n" + said(sections, *sections))
    return sections


def said(sections, *names):
    return "\n".join("\n".join([f"--- {name}", *sections[name]]) for name in names)
