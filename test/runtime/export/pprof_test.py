#!/usr/bin/env python3
"""Tests `export --format pprof` with an independent reader and with the real pprof (Debian's golang-go)."""

import gc
import os
import re
import subprocess

import rig
from pprof_file import Pprof

gc.disable()  # collecting would only cost time: profiles have millions of objects and no cycles

GOLDEN = os.path.join(rig.SOURCE, "test/golden")
PPROF = os.environ.get("GPUPROF_TEST_GO", "go")


def has_pprof():
    try:
        return subprocess.run([PPROF, "version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def many_stacks(count, path):
    """Writes a profile with `count` distinct stacks of 40 frames over 3000 functions; returns its sums."""
    lines = ["GPUPROF;3.0", "STRING;1;app", "STRING;2;libapp.so", "STRING;3;00112233445566778899aabbccddeeff",
             "STRING;4;kernel"]
    functions = 3000
    for i in range(functions):
        lines.append(f"STRING;{10 + 2 * i};layer::Module{i}::forward(Tensor const&, std::vector<int> const&)")
        lines.append(f"STRING;{11 + 2 * i};/src/layer/module{i}.cpp")
        lines.append(f"FRAME;{i + 1};native;{10 + 2 * i};{11 + 2 * i};{i % 500 + 1};2;3;{hex(4096 + 64 * i)}")
    lines.append("PROCESS;1;7;1;5;1;0;0;0")
    ns = state = 0
    for i in range(1, count + 1):
        frames = []
        for depth in range(40):
            state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            # Like real stacks, these share their outer frames.
            frames.append(depth * 70 + ((i >> max(0, 12 - depth)) if depth < 16 else (state >> 40)) % 70 + 1)
        lines.append(f"USTACK;{i};" + ";".join(map(str, frames)))
        lines.append(f"WORK;{i};1;7;0;{i};0;0;0;0;0;kernel;4;0")
        lines.append(f"GPU;0;{i};2;{2 * i};{i};{i};{2 * i * i};{i};8")
        ns += 2 * i
    lines.append(f"END;9;{2 * count};{2 * count};{ns};{2 * count};0;0")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    return {"gpu_ns": ns, "launches": 2 * count, "queue_ns": ns // 2, "bytes": 8 * count}


class PprofTest(rig.RuntimeTest):
    def export(self, profile, *options):
        """Returns the path of the file, and the profile that an independent reader finds in it."""
        path = os.path.join(self.folder, "out.pb.gz")
        self.gpuprof("-q", "export", "--format", "pprof", "--lenient", "-o", path, *options, profile)
        with open(path, "rb") as file:
            return path, Pprof(file.read())

    def sums_of_flame(self, profile):
        """Returns {sample type: sum} from the folded stacks of `flame`; queue_ns comes from the profile's own lines."""
        sums = {}
        for name, weight in (("gpu_ns", "time"), ("launches", "count"), ("bytes", "bytes"), ("samples", "samples")):
            text = self.gpuprof("-q", "flame", "--weight", weight, "--lenient", "--unit", "ns", profile, expect=(0, 4))
            sums[name] = sum(value for _, value in rig.parse_folded(text))
        sums["queue_ns"] = sum(int(row[7]) for row in rig.Profile(profile).of("GPU"))
        return sums

    def pprof(self, *arguments):
        environment = dict(os.environ, HOME=self.folder, PPROF_TMPDIR=self.folder, GOFLAGS="-mod=mod")
        run = self.run_command([PPROF, "tool", "pprof", *arguments], env=environment)
        self.assertEqual(run.returncode, 0, run.stderr.decode())
        return run.stdout.decode()

    def totals_of_pprof(self, path):
        """Returns {sample type: sum} as the real pprof reads them."""
        lines = self.pprof("-raw", path).splitlines()
        head = next(i for i, line in enumerate(lines) if line == "Samples:")
        types = [word.split("/")[0] for word in lines[head + 1].split()]
        sums = [0] * len(types)
        for line in lines[head + 2:lines.index("Locations")]:
            match = re.match(r"^((?: *\d+)+): ", line)
            if match:
                sums = [a + int(b) for a, b in zip(sums, match.group(1).split())]
        return dict(zip(types, sums))

    def profiles(self):
        names = ("train", "stalls", "samples_and_times", "python", "published", "launches", "hostile", "options/train")
        return [os.path.join(GOLDEN, name + ".txt") for name in names]

    def test_sums_equal_those_of_flame(self):
        for profile in self.profiles():
            with self.subTest(profile):
                _, exported = self.export(profile)
                totals = exported.totals()
                for name, total in self.sums_of_flame(profile).items():
                    if name == "launches" and exported.default_type == "samples":
                        continue  # for this profile, `flame --weight count` counts samples
                    self.assertEqual(totals.get(name, 0), total, name)

    def test_the_real_pprof_reads_the_same_sums(self):
        if not has_pprof():
            self.skipTest("no pprof (package golang-go)")
        for profile in self.profiles():
            with self.subTest(profile):
                path, exported = self.export(profile)
                totals = exported.totals()
                self.assertEqual(self.totals_of_pprof(path), totals)
                top = self.pprof("-top", "-nodefraction=0", "-sample_index=" + exported.default_type, path)
                self.assertIn("% of ", top)
                if exported.default_type == "gpu_ns":
                    shown = re.search(r"of (\d+)ns total", self.pprof("-top", "-unit=ns", path))
                    self.assertEqual(int(shown.group(1)), totals["gpu_ns"])

    def test_the_real_pprof_needs_no_symbols(self):
        """All names are in the file: pprof neither searches for binaries nor renames frames."""
        if not has_pprof():
            self.skipTest("no pprof (package golang-go)")
        path, exported = self.export(os.path.join(GOLDEN, "train.txt"))
        top = self.pprof("-top", "-nodefraction=0", path)
        for name in {frames[-1][0] for frames, _, _ in exported.samples()}:
            self.assertIn(name, top)

    def test_stall_samples_have_no_time(self):
        _, exported = self.export(os.path.join(GOLDEN, "stalls.txt"))
        names = [name for name, _ in exported.types]
        self.assertEqual(names, ["gpu_ns", "launches", "queue_ns", "bytes", "samples"])
        for frames, values, labels in exported.samples():
            self.assertEqual(bool(values[4]), "stall" in labels)
            self.assertTrue(values[4] == 0 or values[:4] == [0, 0, 0, 0])
            if values[4]:
                self.assertEqual(frames[-1][0], labels["stall"])

    def test_modules_have_their_build_ids(self):
        profile = os.path.join(GOLDEN, "train.txt")
        _, exported = self.export(profile)
        self.assertEqual(set(exported.modules()), {(0x4a1b20, "libtorch_cuda.so", "0123456789abcdef")})

    def test_a_hundred_thousand_stacks_are_exported_exactly(self):
        profile = os.path.join(self.folder, "many.txt")
        sums = many_stacks(100_000, profile)
        path, exported = self.export(profile)
        size = os.path.getsize(path)
        self.assertEqual(len({tuple(sample["location_id"]) for sample in exported.raw["sample"]}), 100_000)
        self.assertEqual(exported.totals(), sums)
        print(f"100,000 stacks: {size / 1e6:.1f} MB")
        self.assertLessEqual(size, 20_000_000)
        if has_pprof():
            self.assertEqual(self.totals_of_pprof(path), sums)

    def test_a_profile_without_work_writes_no_file(self):
        for name in ("empty", "no_work"):
            run = self.run_command([rig.GPUPROF, "export", "--format", "pprof", "-o", "out.pb.gz",
                                    os.path.join(GOLDEN, name + ".txt")])
            self.assertIn(run.returncode, (1, 4), run.stderr)
            self.assertFalse(os.path.exists(os.path.join(self.folder, "out.pb.gz")))

    def test_a_full_disk_is_an_error_and_a_closed_pipe_is_not(self):
        profile = os.path.join(GOLDEN, "train.txt")
        run = subprocess.run(f"{rig.GPUPROF} export --format pprof {profile} > /dev/full", shell=True,
                             capture_output=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"No space left", run.stderr)
        run = subprocess.run(["bash", "-o", "pipefail", "-c", f"{rig.GPUPROF} -q export --format pprof {profile} | true"],
                             capture_output=True, check=False)
        self.assertNotIn(b"error", run.stderr)

    def test_sums_that_do_not_fit_are_an_error(self):
        profile = os.path.join(self.folder, "large.txt")
        with open(profile, "w", encoding="ascii") as file:
            file.write("GPUPROF;3.0\nWORK;1;0;0;0;0;0;0;0;0;0;kernel;0;0\n"
                       f"GPU;0;1;1;{1 << 63};{1 << 63};{1 << 63};0;0;0\n")
        run = self.run_command([rig.GPUPROF, "export", "--format", "pprof", profile])
        self.assertEqual((run.returncode, run.stdout), (1, b""))
        self.assertIn(b"larger than pprof's numbers", run.stderr)


if __name__ == "__main__":
    rig.main()
