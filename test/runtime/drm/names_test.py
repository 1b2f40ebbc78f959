#!/usr/bin/env python3
"""Tests xe stall samples in kernels whose names the Level Zero library reports, in QEMU.

One process uses both drivers. It gets kernel addresses from a Level Zero driver without a device (test/mocks/level_zero), and
submits them to the fake xe, which reports samples there. To run only this: `ctest -R runtime_drm_names -V`.
"""

import collections
import os
import re
import struct
import subprocess
from pathlib import Path

import machine
import rig
import vm

SUITE = "bookworm-backports"
TRACING_LAYER = "libze_tracing_layer.so.1"
ASSEMBLERS = ("libiga64.so.2", "libiga64.so.1")
# CPU features that Intel's assembler library needs beyond vm.CPU.
CPU = ("-cpu", f"{vm.CPU},+ssse3,+sse4.1,+sse4.2,+popcnt")

SCRIPT = r"""
export FAKE_GPU=/dev/dri/fake_xe ZE_ENABLE_ALT_DRIVERS=/driver.so MOCK_ZE_FAULTS=same_place
record() { /gpuprof record -o "$@" 2>&1; echo "status $?"; }
section doctor
/gpuprof doctor 2>&1
section named
record /tmp/named --backend drm --stalls -- /named /first.zebin /second.zebin
section named.profile
/bin/busybox cat /tmp/named
section named.folded
/gpuprof flame -i /tmp/named --weight samples --leaf function,line,instruction,stall 2>/dev/null
section named.report
/gpuprof report -i /tmp/named 2>&1
section attached
WAIT_FOR=/tmp/attached /named /first.zebin /second.zebin >/dev/null &
record /tmp/attached --backend drm --stalls -p $!
section attached.profile
/bin/busybox cat /tmp/attached
"""


def zebin_of(path):
    """Turns an object file of this processor into a zebin: changes its machine and its relocation types."""
    data = bytearray(Path(path).read_bytes())
    struct.pack_into("<H", data, 18, 205)
    headers, = struct.unpack_from("<Q", data, 40)
    count, = struct.unpack_from("<H", data, 60)
    types = {1: 1, 10: 2}  # R_X86_64_64, R_X86_64_32
    for number in range(count):
        kind, _, _, offset, size = struct.unpack_from("<IQQQQ", data, headers + number * 64 + 4)
        if kind == 4:  # SHT_RELA
            for at in range(offset, offset + size, 24):
                info, = struct.unpack_from("<Q", data, at + 8)
                struct.pack_into("<Q", data, at + 8, info >> 32 << 32 | types[info & 0xFFFFFFFF])
    return bytes(data)


def library(name):
    """Returns the path of a library according to this machine's loader, or None."""
    found = subprocess.run(["ldconfig", "-p"], text=True, stdout=subprocess.PIPE, check=False).stdout
    return next((line.split("=> ")[1] for line in found.splitlines() if line.split()[:1] == [name]), None)


def files():
    """Returns {name in /: bytes} of the libraries that the programs load."""
    layer = library(TRACING_LAYER)
    if layer is None:
        raise vm.Skipped(f"no {TRACING_LAYER} (package libze1)")
    assembler = next(filter(None, map(library, ASSEMBLERS)), None)
    loaded = [layer, os.environ["MOCK_ZE_DRIVER"], os.environ["MOCK_ZE_SECOND_DRIVER"], *([assembler] if assembler else [])]
    found = {path for one in loaded for path in vm.libraries_of(one)} | {layer} | ({assembler} if assembler else set())
    made = {path.lstrip("/"): Path(path).read_bytes() for path in found}
    made["driver.so"] = Path(os.environ["MOCK_ZE_DRIVER"]).read_bytes()
    made["second_driver.so"] = Path(os.environ["MOCK_ZE_SECOND_DRIVER"]).read_bytes()
    for name, path in zip(("first", "second"), os.environ["DRM_ZEBINS"].split(",")):
        made[f"{name}.zebin"] = zebin_of(path)
    return made, assembler is not None


class Sample(collections.namedtuple("Sample", "process path kernel offset line text reason flags")):
    """`process` is 0 for the first process. `path` is the function of named.c. `line` is the source line, 0 if unknown."""


class Names(rig.RuntimeTest):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sections = vm.sections_of(cls.run_machine)

    @classmethod
    def run_machine(cls):
        more_files, cls.has_assembler = files()
        return machine.run(SUITE, {"gpuprof": rig.GPUPROF, "named": os.environ["DRM_NAMED"]}, lambda _: SCRIPT,
                           more_files=more_files, load=machine.LOAD_FAKES, qemu=CPU)

    def said(self, *sections):
        return vm.said(self.sections, *sections)

    def samples(self, section):
        """Returns {Sample: count}, and the profile."""
        self.assertIn("status 0", self.sections[section], self.said(section))
        with open(self.profile_path, "w", encoding="utf-8") as file:
            file.write("\n".join(self.sections[f"{section}.profile"]))
        profile = rig.Profile(self.profile_path)
        text = profile.strings()
        lines = {row[0]: int(row[4]) for row in profile.of("FRAME")}
        texts = {row[0]: text[row[1]] for row in profile.of("GPU_INSTRUCTION")}
        places = {row[0]: (text.get(row[2], ""), int(row[3], 16), lines[row[5]] if len(row) > 5 else 0, texts.get(row[0], ""))
                  for row in profile.of("GPU_PLACE")}
        processes = [row[0] for row in profile.of("PROCESS")]
        found = collections.Counter()
        for _, work, place, reason, _, count, flags in profile.of("EUSTALL"):
            made = profile.works[work]
            frames = profile.frames(made.ustack)
            path = frames[frames.index("main") + 1:frames.index("submit")] if "submit" in frames else ["none"]
            found[Sample(processes.index(made.process) if made.process in processes else -1, path[-1], *places.get(place, ("", 0, 0, "")),
                         text[reason], int(flags))] += int(count)
        return found, profile

    def sample(self, path, line, opcode, offset, reason, process=0, kernel="scale", flags=0):
        text = self.TEXTS[opcode] if self.has_assembler else ""
        return Sample(process, path, kernel, offset, line, text, reason, flags)

    TEXTS = {  # instruction texts; all operands are 0
        "sync": "sync.nop null",
        "add": "add (1|M0) null<0>:ub null<0;1,0>:ub null<0;1,0>:ub",
        "mul": "mul (1|M0) null<0>:ub null<0;1,0>:ub null<0;1,0>:ub",
        "nop": "nop",
    }

    def test_samples_are_in_the_kernels_that_the_process_had_loaded(self):
        """The samples are those of named.c; lines and instructions are those of zebin_first.c and zebin_second.c. The second
        zebin has a kernel of the same name at the same address, in another process and later in the same process."""
        found, profile = self.samples("named")
        shared = {process: found.pop(self.sample("together", line, opcode, 0x10, "sbid", process, flags=1), 0)
                  for process, line, opcode in ((0, 6, "mul"), (1, 10, "add"))}
        unnamed, = [sample for sample in found if sample.path == "unloaded"]
        self.assertRegex(unnamed.kernel, r"^kernel at 0x[0-9a-f]+$")
        self.assertEqual((unnamed.offset, unnamed.line, unnamed.text, found.pop(unnamed)), (0x10, 0, "", 10))
        self.assertEqual(dict(found), {
            self.sample("first", 6, "mul", 0x10, "sbid"): 40,
            self.sample("first", 7, "nop", 0x20, "send"): 30,
            self.sample("neighbor", 11, "add", 0, "sync", kernel="add"): 20,
            self.sample("other_process", 10, "add", 0x10, "sbid", process=1): 25,
            self.sample("reloaded", 10, "add", 0x10, "sbid"): 35,
            self.sample("reloaded", 9, "sync", 0, "sync"): 15,
        }, self.said("named"))
        # Both processes ran all the time, so each gets half of these samples, attributed to its own code.
        self.assertEqual(sum(shared.values()), 60, shared)
        self.assertLessEqual(abs(shared[0] - 30), 1, shared)
        self.assertEqual((profile.end()["samples"], profile.losses()), (235, {}))

    def test_the_library_reports_only_code(self):
        _, profile = self.samples("named")
        self.assertEqual({work.name for work, _ in profile.measured("GPU")}, {"xe-rcs", "xe-ccs"})
        self.assertEqual(profile.coverage()["matched"], 7)
        meta = profile.meta()
        self.assertEqual([value for key, values in meta.items() if key.endswith("level_zero.kernel_addresses")
                          for value in values], ["known", "known"])
        self.assertEqual(len(profile.of("GPU_MODULE")), 2, "one of each zebin, whoever loads it")

    def test_in_a_running_process_kernels_stay_addresses_and_a_hint_says_so(self):
        found, profile = self.samples("attached")
        self.assertIn("have addresses instead of names and source lines", self.said("attached"))
        self.assertEqual({re.sub("0x[0-9a-f]+", "X", sample.kernel) for sample in found}, {"kernel at X"})
        self.assertEqual((profile.end()["samples"], profile.losses()), (235, {}))
        self.assertEqual(profile.coverage()["matched"], 7)
        self.assertEqual(profile.end()["launches"], 7, "those of Level Zero are not counted, too")

    def test_flame_and_report_show_the_named_kernels(self):
        folded = self.sections["named.folded"]
        text = f"{self.TEXTS['mul']}_[g];" if self.has_assembler else "0x10_[g];"
        first, = [line for line in folded if ";first;" in line and line.endswith("sbid_[g] 40")]
        self.assertRegex(first, r";xe-rcs_\[G\];scale_\[G\];[^;]*/zebin_first\.c:6_\[G\];")
        self.assertIn(text.replace("0;1", "0:1"), first)  # ";" separates frames
        other, = [line for line in folded if ";other_process;" in line]
        self.assertRegex(other, r"/zebin_second\.c:10_\[G\];")
        self.assertRegex(self.said("named.report"), r"zebin_first\.c:6 ")


if __name__ == "__main__":
    rig.main()
