#!/usr/bin/env python3
"""Runs the tests of the BPF stack engine ([bpf] in unit_record) on other kernels, in QEMU.

    run_kernels.py --program build/test/unit/unit_record [--cache DIR] [--suite SUITE ...]

Uses Debian's newest cloud kernel of each suite (bookworm: 6.1, bookworm-backports: 6.12, sid: the newest). apt-get fetches
the kernels into a separate folder: nothing is installed, and the machine's package lists stay as they are. Each kernel
boots with an initial RAM disk that holds the program, its libraries and busybox. Prints a table. If the table-based engine
is unavailable, no tests run: that is a failure, except for suites named with --without.

Exit status: 0 all passed, 1 a test failed, no test ran, or a kernel did not boot, 77 skipped (the reason is printed).
"""
import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import vm  # noqa: E402  (test/runtime)

SUITES = ["bookworm", "bookworm-backports", "sid"]
BOOT_SECONDS = 300  # limit for boot and tests without KVM

INIT = """/program '[bpf]'
echo "STATUS $?"
"""


def say(text):
    print(text, flush=True)


def kernel_of(archive, machine):
    """Returns the path of the suite's newest kernel image, unpacked."""
    archive.update()
    meta = f"linux-image-cloud-{machine.debian}"
    package = archive.depended(meta, rf"linux-image-\S+-cloud-{machine.debian}")
    if package is None:
        raise vm.Skipped(f"no {meta} in this suite")
    found = image_in(archive, package)
    if not found:
        # In newer suites the image package is empty, and depends on the package that holds the kernel image.
        binary = re.search(rf"(linux-binary-\S+-cloud-{machine.debian})", archive.shown(package))
        found = image_in(archive, binary.group(1)) if binary else []
    if not found:
        raise vm.Skipped(f"{package} holds no kernel image")
    return found[0]


def image_in(archive, package):
    # The tests need no kernel modules, so these are not unpacked.
    folder = archive.unpacked(package, but=["lib/modules/*/kernel", "usr/lib/modules/*/kernel"])
    return sorted(folder.rglob("vmlinuz*"))


def found(pattern, text, otherwise):
    match = re.search(pattern, text, re.M)
    return match.group(1).strip() if match else otherwise


def check(suite, kernel, initrd, without, machine):
    """Prints a row of the table. Returns whether all tests passed. `without`: this kernel cannot run the table-based engine."""
    begin = time.monotonic()
    output = vm.boot(kernel, initrd, BOOT_SECONDS, machine=machine)
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
    parser.add_argument("--cache", type=Path, default=vm.cache_folder())
    parser.add_argument("--mirror", help="Debian archive; else the one that this machine uses")
    parser.add_argument("--suite", action="append", help=f"default: {' '.join(SUITES)}")
    parser.add_argument("--kernel", type=Path, action="append", default=[], help="a kernel image of your own")
    parser.add_argument("--without", action="append", default=[], metavar="SUITE",
                        help="suite whose kernel cannot run the table-based engine; 'given' means the kernels of --kernel")
    parser.add_argument("--processor", choices=["x86_64", "aarch64"], default="x86_64")
    options = parser.parse_args()
    machine = getattr(vm, options.processor)()
    if reason := vm.missing_tools(machine=machine):
        raise vm.Skipped(reason)
    if not options.program.is_file():
        raise vm.Skipped(f"{options.program} is not built")
    options.cache.mkdir(parents=True, exist_ok=True)
    initrd = options.cache / f"initrd-{options.processor}.gz"
    vm.make_initrd(initrd, INIT, {"program": options.program}, machine=machine)
    good = True
    ran = 0
    for kernel in options.kernel:
        good = check("given", kernel, initrd, "given" in options.without, machine) and good
        ran += 1
    suites = options.suite or ([] if options.kernel else SUITES)
    mirror = options.mirror or (vm.debian_mirror() if suites else "")
    for suite in suites:
        try:
            kernel = kernel_of(vm.Archive(options.cache, mirror, suite, machine.debian), machine)
        except (subprocess.CalledProcessError, vm.Skipped) as error:
            say(f"{suite:20} skipped: {getattr(error, 'output', '') or error}")
            continue
        good = check(suite, kernel, initrd, suite in options.without, machine) and good
        ran += 1
    if ran == 0:
        raise vm.Skipped("no kernel could be had")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except vm.Skipped as reason:
        say(f"skipped: {reason}")
        sys.exit(77)
