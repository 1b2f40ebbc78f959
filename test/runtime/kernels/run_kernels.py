#!/usr/bin/env python3
"""Runs the tests of the BPF stack engine ([bpf] in unit_record) on other kernels, in QEMU.

    run_kernels.py --program build/test/unit/unit_record [--cache DIR] [--suite SUITE ...]

Takes Debian's newest cloud kernel of each suite (bookworm: 6.1, bookworm-backports: 6.12, sid: the newest there is),
fetched with apt-get into a folder of its own: nothing is installed, the machine's own package lists stay as they are.
Boots each with an initial RAM disk that holds the program, its libraries and busybox, and prints a table.
Where the engine by tables cannot be had the tests have nothing to run: that is a failure, too, but for suites that are
named with --without.

Exit status: 0 all passed, 1 a test failed, none was run, or a kernel did not boot, 77 skipped (the reason is printed).
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOOLS = ["qemu-system-x86_64", "busybox", "cpio", "gzip", "dpkg-deb", "apt-get", "apt-cache"]
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = ["bookworm", "bookworm-backports", "sid"]
META_PACKAGE = "linux-image-cloud-amd64"
# QEMU 7.2 gets the flags of cmpxchg16b wrong, which newer kernels do not survive.
CPU = "qemu64,-cx16"
BOOT_SECONDS = 300  # without KVM, tests included

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
/program '[bpf]'
echo "STATUS $?"
/bin/busybox poweroff -f
"""


class Skipped(Exception):
    pass


def say(text):
    print(text, flush=True)


def run(arguments, **options):
    return subprocess.run(arguments, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options).stdout


def debian_mirror():
    """The archive that this machine uses, as its apt configuration names it."""
    for path in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        if not path.is_file():
            continue
        for word in path.read_text(errors="replace").split():
            if re.match(r"https?://\S+/debian/?$", word):
                return word
    raise Skipped("this machine's package sources name no Debian archive (--mirror URL)")


class Archive:
    """apt with a configuration of its own, for one suite."""

    def __init__(self, folder, mirror, suite):
        self.folder = folder / suite
        (self.folder / "state/lists/partial").mkdir(parents=True, exist_ok=True)
        (self.folder / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        (self.folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror} {suite} main\n")
        self.options = [f"-oDir::Etc::sourcelist={self.folder}/sources.list", "-oDir::Etc::sourceparts=/nonexistent",
                        f"-oDir::State={self.folder}/state", f"-oDir::State::status={self.folder}/status",
                        f"-oDir::Cache={self.folder}/cache", "-oAPT::Architecture=amd64",
                        "-oAPT::Sandbox::User=root"]

    def kernel(self):
        """Path of the suite's newest kernel image, unpacked."""
        run(["apt-get", *self.options, "-q", "update"])
        shown = run(["apt-cache", *self.options, "show", "--no-all-versions", META_PACKAGE])
        image = re.search(r"^Depends: .*?(linux-image-\S+-cloud-amd64)", shown, re.M)
        if image is None:
            raise Skipped(f"no {META_PACKAGE} in this suite")
        found = self.unpacked(image.group(1))
        if not found:
            # In newer suites the image package is only a name for the package that holds it.
            shown = run(["apt-cache", *self.options, "show", "--no-all-versions", image.group(1)])
            binary = re.search(r"(linux-binary-\S+-cloud-amd64)", shown)
            found = self.unpacked(binary.group(1)) if binary else []
        if not found:
            raise Skipped(f"{image.group(1)} holds no kernel image")
        return found[0]

    def unpacked(self, package):
        target = self.folder / package
        if not target.is_dir():
            run(["apt-get", *self.options, "-q", "download", package], cwd=self.folder)
            deb = next(self.folder.glob(f"{package}_*.deb"))
            run(["dpkg-deb", "-x", str(deb), str(target)])
            deb.unlink()
            for modules in [*target.glob("lib/modules/*/kernel"), *target.glob("usr/lib/modules/*/kernel")]:
                shutil.rmtree(modules)  # nothing here needs one
        return sorted(target.rglob("vmlinuz*"))


def libraries_of(program):
    """The program's shared libraries and its loader, and what backtrace() opens: where they are on this machine."""
    found = re.findall(r"(?:=>\s+|^\s+)(/\S+)\s+\(0x", run(["ldd", str(program)]), re.M)
    beside_libc = next(Path(library).parent for library in found if "/libc.so" in library)
    return [*found, str(beside_libc / "libgcc_s.so.1")]


def make_initrd(program, target):
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "bin").mkdir()
        shutil.copy(shutil.which("busybox"), root / "bin/busybox")
        run(["strip", "--strip-debug", "-o", str(root / "program"), str(program)])
        for library in libraries_of(program):
            copy = root / library.lstrip("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, copy)
        (root / "init").write_text(INIT)
        (root / "init").chmod(0o755)
        names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
        with open(target, "wb") as out:
            cpio = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(),
                                  stdout=subprocess.PIPE, check=True)
            subprocess.run(["gzip", "-1"], input=cpio.stdout, stdout=out, check=True)


def boot(kernel, initrd):
    command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", CPU, "-m", "1024", "-smp", "2", "-nographic",
               "-no-reboot", "-nodefaults", "-serial", "stdio", "-kernel", str(kernel), "-initrd", str(initrd),
               "-append", "console=ttyS0 panic=-1 quiet no_timer_check"]
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=BOOT_SECONDS, check=False).stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b"").decode(errors="replace") + "\nTIMEOUT\n"


def found(pattern, text, otherwise):
    match = re.search(pattern, text, re.M)
    return match.group(1).strip() if match else otherwise


def check(suite, kernel, initrd, without):
    """Prints a row of the table; True when all tests passed. `without`: this kernel is to have no engine by tables."""
    begin = time.monotonic()
    output = re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|c)|\r", "", boot(kernel, initrd))
    seconds = time.monotonic() - begin
    release = found(r"^KERNEL (\S+)", output, kernel.name)
    status = found(r"^STATUS (\d+)", output, "did not finish")
    engine = found(r"^engine: (\S+)", output, "none")
    note = found(r"^engine: .* note:(.*)$", output, "")
    tests = found(r"^(All tests passed.*|test cases:.*)$", output, "")
    say(f"{suite:20} {release:32} engine {engine:7} {tests or status} ({seconds:.0f} s)")
    if note:
        say(f"    {note}")
    for reason in sorted(set(re.findall(r"^skipped: (.*)$", output, re.M))):
        say(f"    skipped there: {reason}")
    tested = engine == "bpf"
    if tested == without:
        say("    FAILED: " + ("this kernel was expected to have no engine by tables" if tested else
                              "nothing was tested: no engine by tables (--without SUITE where that is as it should be)"))
    good = status == "0" and tested != without
    if not good:
        say(output[-6000:])
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True, help="unit_record")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "gpuprof-kernels")
    parser.add_argument("--mirror", help="Debian archive; else the one that this machine uses")
    parser.add_argument("--suite", action="append", help=f"default: {' '.join(SUITES)}")
    parser.add_argument("--kernel", type=Path, action="append", default=[], help="a kernel image of your own")
    parser.add_argument("--without", action="append", default=[], metavar="SUITE",
                        help="suite whose kernel has no engine by tables; 'given' for those of --kernel")
    options = parser.parse_args()
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise Skipped(f"not installed: {' '.join(missing)} (packages qemu-system-x86 busybox-static cpio)")
    if not options.program.is_file():
        raise Skipped(f"{options.program} is not built")
    options.cache.mkdir(parents=True, exist_ok=True)
    initrd = options.cache / "initrd.gz"
    make_initrd(options.program, initrd)
    good = True
    ran = 0
    for kernel in options.kernel:
        good = check("given", kernel, initrd, "given" in options.without) and good
        ran += 1
    suites = options.suite or ([] if options.kernel else SUITES)
    mirror = options.mirror or (debian_mirror() if suites else "")
    for suite in suites:
        try:
            kernel = Archive(options.cache, mirror, suite).kernel()
        except (subprocess.CalledProcessError, Skipped) as error:
            say(f"{suite:20} skipped: {getattr(error, 'output', '') or error}")
            continue
        good = check(suite, kernel, initrd, suite in options.without) and good
        ran += 1
    if ran == 0:
        raise Skipped("no kernel could be had")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Skipped as reason:
        say(f"skipped: {reason}")
        sys.exit(77)
