#!/usr/bin/env python3
"""Tests `export --format sqlite`: SQLite finds no fault in the file, its sums are those of `flame`, and the queries of
docs/sqlite.md give the answers of `report`."""

import contextlib
import json
import os
import re
import sqlite3
import subprocess

import rig

GOLDEN = os.path.join(rig.SOURCE, "test/golden")
PROFILES = [os.path.join(GOLDEN, name + ".txt") for name in
            ("train", "durations", "stalls", "samples_and_times", "python", "published", "launches", "hostile", "options/train")]


def queries():
    """Returns {number: SQL} of the page."""
    with open(os.path.join(rig.SOURCE, "docs/sqlite.md"), encoding="utf-8") as page:
        found = re.findall(r"^(\d+)\. .*?```sql\n(.*?)```", page.read(), re.M | re.S)
    return {int(number): text for number, text in found}


class SqliteTest(rig.RuntimeTest):
    @contextlib.contextmanager
    def database(self, profile, *options):
        path = os.path.join(self.folder, "profile.db")
        self.gpuprof("-q", "export", "--format", "sqlite", "--lenient", "-o", path, *options, profile)
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            yield database

    def flame(self, profile, weight):
        text = self.gpuprof("-q", "flame", "--weight", weight, "--lenient", "--unit", "ns", profile, expect=(0, 4))
        return sum(value for _, value in rig.parse_folded(text))

    def test_the_database_is_valid_and_has_the_sums_of_flame(self):
        for profile in PROFILES:
            with self.subTest(profile), self.database(profile) as database:
                one = lambda sql: database.execute(sql).fetchone()[0]
                self.assertEqual(one("PRAGMA integrity_check"), "ok")
                self.assertEqual(database.execute("PRAGMA foreign_key_check").fetchall(), [])
                self.assertEqual(one("PRAGMA user_version"), 1)
                self.assertEqual(one("SELECT coalesce(SUM(gpu_ns), 0) FROM measured"), self.flame(profile, "time"))
                self.assertEqual(one("SELECT coalesce(SUM(bytes), 0) FROM measured"), self.flame(profile, "bytes"))
                self.assertEqual(one("SELECT coalesce(SUM(samples), 0) FROM samples"), self.flame(profile, "samples"))
                if "published" not in profile:  # else `flame --weight count` counts samples
                    self.assertEqual(one("SELECT SUM(launches) FROM measured"), self.flame(profile, "count"))
                for op, weight in (("call", "calls"), ("sync", "wait"), ("cpu", "cpu")):
                    sql = f"SELECT coalesce(SUM(host_ns), 0) FROM {{}} WHERE {{}} = '{op}'"
                    total = self.flame(profile, weight)
                    self.assertEqual(one(sql.format("host h JOIN work w ON w.id = h.work", "w.op")), total)
                    self.assertEqual(one(sql.format("host_paths", "op")), total)
                self.assertEqual(one("SELECT COUNT(*) FROM measured m LEFT JOIN stacks s ON s.id = m.stack "
                                     "WHERE m.stack IS NOT NULL AND s.id IS NULL"), 0)

    def test_each_path_of_a_kernel_is_one_row(self):
        for profile in PROFILES:
            with self.subTest(profile), self.database(profile) as database:
                paths = database.execute("SELECT name, path FROM paths").fetchall()
                self.assertEqual(len(paths), len(set(paths)))
                self.assertEqual(database.execute("SELECT SUM(gpu_ns) FROM paths").fetchone(),
                                 database.execute("SELECT SUM(gpu_ns) FROM measured").fetchone())

    def test_all_queries_of_the_page_run(self):
        self.assertEqual(sorted(queries()), list(range(1, 16)))
        for profile in PROFILES:
            with self.database(profile) as database:
                for number, query in queries().items():
                    with self.subTest(profile=profile, query=number):
                        database.execute(query).fetchall()

    def test_the_queries_give_the_answers_of_report(self):
        profile = os.path.join(GOLDEN, "options/train.txt")
        report = json.loads(self.gpuprof("-q", "report", "--json", "--top", "0", profile))
        ask = queries()
        with self.database(profile) as database:
            answers = {number: database.execute(query).fetchall() for number, query in ask.items()}
        self.assertEqual(sum(row[1] for row in answers[1]), report["gpu_ns"])
        self.assertEqual((answers[1][0][0], answers[1][0][1]), ("gemm", 1_650_007))
        self.assertIn(("train_step", "train.py", 1_000_007 + 100_007 + 10_001 + 20_002 + 400_000), answers[2])
        self.assertEqual({path for path, _ in answers[3]},
                         {"main (train.py:3);train_step (train.py:17);at::mm;cudaLaunchKernel",
                          "main (train.py:3);replay (train.py:40);cudaGraphLaunch"})
        self.assertEqual(sum(row[2] for row in answers[4]), report["gpu_ns"])
        self.assertEqual({(row[0], row[3]) for row in answers[5]}, {("3", 1_420_518), ("0", 400_777)})
        self.assertEqual([(row[0], row[1]) for row in answers[6]], [("[copy HtoD]", 4_194_304)])
        self.assertIn(("epoch 1/torch:forward", 1_000_007), answers[7])
        self.assertEqual(answers[8], [("gemm", 9000 // 160)])

    def test_the_queries_cover_samples(self):
        with self.database(os.path.join(GOLDEN, "stalls.txt")) as database:
            answers = {number: database.execute(query).fetchall() for number, query in queries().items()}
        self.assertEqual(answers[9][0], ("attention(float const*, float*, int)", "long_scoreboard", 2336))
        self.assertEqual(answers[10][0][:3], ("attention(float const*, float*, int)", "stalls.cu", 9))
        self.assertEqual(sum(row[3] for row in answers[10]), 3952)

    def test_the_queries_cover_durations(self):
        with self.database(os.path.join(GOLDEN, "durations.txt")) as database:
            answer = database.execute(queries()[11]).fetchall()
        self.assertEqual(sorted(answer), [("not_all_known", 5, 10000, 10000, 10000),
                                          ("sometimes_slow", 1000, 10000, 10000, 1_000_000),
                                          ("steady", 100, 10000, 10000, 10000)])

    def test_the_queries_cover_calls_and_cpu_samples(self):
        with self.database(os.path.join(GOLDEN, "durations.txt")) as database:
            answers = {number: database.execute(query).fetchall() for number, query in queries().items()}
        self.assertEqual(answers[12], [("clBuildProgram", 3, 120_000_000, 40_000_000, 10_092_543, 100_000_000),
                                       ("clCreateBuffer", 7, 7000, 1000, 1000, 1000)])
        self.assertEqual(answers[13], [("clBuildProgram", None, 120_000_000, 3), ("clCreateBuffer", None, 7000, 7)])
        self.assertEqual(answers[15], [("clFinish", None, 50_000, 1)])
        path = os.path.join(self.folder, "cpu.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("GPUPROF;3.5\nSTRING;1;app\nSTRING;2;fetch\nSTRING;3;decode\nPROCESS;1;7;1;5;1;0;0;0\n"
                       "FRAME;1;native;2;0;0;0;0;1\nFRAME;2;native;3;0;0;0;0;2\nUSTACK;1;1\nUSTACK;2;1;2\n"
                       "WORK;1;1;7;0;1;0;0;0;0;0;cpu;0;0\nWORK;2;1;7;0;2;0;0;0;0;0;cpu;0;0\n"
                       "WORK;3;1;8;0;2;0;0;0;0;0;cpu;0;0\nWORK;4;1;7;0;1;0;0;0;0;0;kernel;1;0\n"
                       "GPU;0;4;1;9;9;9;81;0;0\nHOST;0;1;2;20;10;10;0\nHOST;0;2;3;60;20;20;0\nHOST;0;3;1;5;5;5;0\n")
        with self.database(path) as database:
            self.assertEqual(database.execute(queries()[14]).fetchall(), [("fetch;decode", 65, 4), ("fetch", 20, 2)])

    def test_the_sqlite3_program_reads_the_database(self):
        reason = rig.why_not("program:sqlite3")
        if reason:
            self.skipTest(reason)
        with self.database(os.path.join(GOLDEN, "stalls.txt")):
            pass
        run = self.run_command(["sqlite3", "profile.db", "SELECT SUM(gpu_ns) FROM measured"])
        self.assertEqual((run.returncode, run.stdout), (0, b"17572328\n"))

    def test_modules_are_stored_and_stack_options_work(self):
        with self.database(os.path.join(GOLDEN, "train.txt")) as database:
            rows = database.execute("SELECT module, build_id, address FROM frames WHERE kind = 'inlined'").fetchall()
        self.assertEqual(rows, [("libtorch_cuda.so", "0123456789abcdef", 0x4a1b20)])
        with self.database(os.path.join(GOLDEN, "python.txt"), "--hide", "^Trainer") as database:
            self.assertEqual(database.execute("SELECT COUNT(*) FROM frames WHERE name LIKE 'Trainer%'").fetchone(), (0,))

    def test_numbers_that_are_too_large_are_stored_as_text(self):
        with open(PROFILES[0], encoding="utf-8") as file:
            text = file.read()
        large = text.replace(";0x4a1b20\n", ";0xffffffffff600001\n")
        self.assertNotEqual(large, text)
        path = os.path.join(self.folder, "profile.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(large)
        with self.database(path) as database:
            self.assertIn((str(0xffffffffff600001),), database.execute("SELECT address FROM frames").fetchall())
        with open(path, "w", encoding="utf-8") as file:
            file.write("GPUPROF;3.0\nSTRING;1;app\nPROCESS;1;7;1;5;1;0;0;0\nWORK;1;1;7;1;0;0;0;0;0;0;kernel;1;0\n" +
                       "GPU;0;1;1;9000000000000000001;9000000000000000001;9000000000000000001;0;0;0\n" * 2)
        run = self.run_command([rig.GPUPROF, "export", "--format", "sqlite", "-o", "out.db", path])
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"larger than SQLite's numbers", run.stderr)

    def test_failures_are_reported(self):
        run = self.run_command([rig.GPUPROF, "export", "--format", "sqlite", "-o", "out.db",
                                os.path.join(GOLDEN, "no_work.txt")])
        self.assertEqual(run.returncode, rig.NOTHING)
        self.assertEqual(os.listdir(self.folder), [])
        run = subprocess.run(["bash", "-c", f"{rig.GPUPROF} export --format sqlite {PROFILES[0]} > /dev/full"],
                             cwd=self.folder, capture_output=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"No space left", run.stderr)
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    rig.main()
