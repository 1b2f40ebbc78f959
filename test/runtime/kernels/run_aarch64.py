#!/usr/bin/env python3
"""Runs an aarch64 build of gpuprof on Debian's kernels for arm64, in QEMU.

    run_aarch64.py --build build-dev-aarch64 [--cache DIR] [--suite SUITE ...]

Runs the unit tests that QEMU's user mode cannot run (test/unit/not_under_qemu.txt). Records a program on the mock driver with
each stack engine, which must give equal stacks, and attaches to it (record -p). The BPF tests are run by run_kernels.py.

Exit status: 0 all passed, 1 a test failed, 77 skipped (the reason is printed).
"""
import argparse
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parent.parent / "unit")]
import run_kernels  # noqa: E402
import run_under_qemu  # noqa: E402
import vm  # noqa: E402

SUITES = ["bookworm-backports", "bookworm"]
UNITS = ["base", "symbolize", "injection", "record"]
# The machine's clock starts at zero, so its past is too short for the test's time limit.
NOT_HERE = {"after the time limit only known addresses have names"}
ENGINES = ["inproc", "bpf", "fp"]
LIMIT_SECONDS = 600

PREPARE = """export PATH=/bin
for name in cat cp cut env false grep head kill ls mkdir mv printf rm sed sh sleep true; do /bin/busybox ln -s /bin/busybox /bin/$name 2>/dev/null; done
mkdir -p /etc; echo root:x:0:0:root:/root:/bin/sh >/etc/passwd; cd /tmp
"""
RECORD = """export LD_LIBRARY_PATH=/mocks GPUPROF_CUPTI_PATH=/mocks
for engine in inproc bpf fp; do
  /gpuprof record -q --stacks=$engine -o $engine.txt -- /mock_cuda_app --launches 500 --gap-us 20 >/dev/null
  echo "RECORDED $engine $?"
  /gpuprof flame -i $engine.txt | while read -r line; do echo "STACK $engine $line"; done
done
/mock_cuda_app --launches 1000000 --gap-us 500 >/dev/null & target=$!
sleep 1
/gpuprof record -p $target --duration 2 -o attached.txt; echo "ATTACHED $?"
sleep 1; kill -0 $target; echo "TARGET $?"
/gpuprof flame -i attached.txt | while read -r line; do echo "STACK attached $line"; done
kill $target
"""


def unit_tests(build):
    """Returns (script, programs, files)."""
    left_out = run_under_qemu.exclusions()
    script, programs, files = "", {}, {}
    for name in UNITS:
        programs[f"unit_{name}"] = build / f"test/unit/unit_{name}"
        tests = [test for test in left_out[name] if test not in NOT_HERE]
        files[f"{name}.tests"] = "".join(run_under_qemu.as_pattern(test) + "\n" for test in tests).encode()
        script += f"/unit_{name} --input-file /{name}.tests; echo \"UNIT {name} $? of {len(tests)}\"\n"
    data = [*(build / "test/unit/symbolize_fixtures").rglob("*"), *(build / "test/unit").glob("*test_frames*.so"),
            *(HERE.parent.parent / "unit/symbolize").rglob("*")]
    files.update({str(path.resolve()).lstrip("/"): path.read_bytes() for path in data if path.is_file()})
    return script, programs, files


def stacks_of(output, name):
    """Returns the lines of a folded profile without their counts, which are GPU times of the mock driver."""
    return sorted(line.rpartition(" ")[0] for line in re.findall(rf"^STACK {name} (.*)$", output, re.M))


def faults(output):
    for name in UNITS:
        found = re.search(rf"^UNIT {name} (\d+) of (\d+)$", output, re.M)
        if not found or found.group(1) != "0":
            yield f"unit_{name}: status {found.group(1) if found else 'unknown'}"
    for engine in ENGINES:
        if f"\nRECORDED {engine} 0" not in output:
            yield f"a recording with --stacks={engine} failed"
    first = stacks_of(output, "inproc")
    if not first or not all(";main;" in line for line in first):
        yield "stacks do not reach main()"
    for name in [*ENGINES[1:], "attached"]:
        if stacks_of(output, name) != first:
            yield f"{name} has other stacks than inproc: {stacks_of(output, name)[:3]}"
    if "\nATTACHED 0" not in output or "\nTARGET 0" not in output:
        yield "record -p failed, or ended its target"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=vm.cache_folder())
    parser.add_argument("--suite", action="append", help=f"default: {' '.join(SUITES)}")
    options = parser.parse_args()
    machine = vm.aarch64()
    if reason := vm.missing_tools(machine=machine):
        raise vm.Skipped(reason)
    build = options.build.resolve()
    mocks = build / "test/mocks"
    if not (mocks / "mock_cuda_app").exists():
        raise vm.Skipped("the mock driver is not built: it needs NVIDIA's headers (CUDA toolkit)")
    script, programs, files = unit_tests(build)
    programs.update({"gpuprof": build / "gpuprof", "mock_cuda_app": mocks / "mock_cuda_app"})
    files.update({f"mocks/{name}": (mocks / name).read_bytes() for name in ("libcuda.so.1", "libcupti.so.13")})
    options.cache.mkdir(parents=True, exist_ok=True)
    initrd = options.cache / "initrd-aarch64-tests.gz"
    vm.make_initrd(initrd, PREPARE + script + RECORD, programs, files, machine)
    good = True
    for suite in options.suite or SUITES:
        kernel = run_kernels.kernel_of(vm.Archive(options.cache, vm.debian_mirror(), suite, machine.debian), machine)
        output = vm.boot(kernel, initrd, LIMIT_SECONDS, machine=machine)
        found = list(faults(output))
        passed = sum(int(count) for count in re.findall(r"^UNIT \w+ 0 of (\d+)$", output, re.M))
        run_kernels.say(f"{suite}: {passed} unit tests passed, {len(stacks_of(output, 'inproc'))} stacks equal with each engine and "
                        "record -p" if not found else f"{suite}: FAILED: " + "; ".join(found) + output[-8000:])
        good = good and not found
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except vm.Skipped as reason:
        run_kernels.say(f"skipped: {reason}")
        sys.exit(77)
