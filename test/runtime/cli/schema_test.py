#!/usr/bin/env python3
"""Validates every JSON output against its published schema in docs/schema, with an independent validator
(python3-jsonschema). To add an output, add its schema and a function that yields (name, text) pairs to SUITES.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

import rig

try:
    import jsonschema
except ImportError:  # only the distribution's Python has this package
    DISTRIBUTION = "/usr/bin/python3"
    if os.path.realpath(sys.executable) != os.path.realpath(DISTRIBUTION) and os.path.exists(DISTRIBUTION):
        os.execv(DISTRIBUTION, [DISTRIBUTION, *sys.argv])
    print("skipped: no validator (package python3-jsonschema)")
    sys.exit(rig.SKIPPED)

GOLDEN = os.path.join(rig.SOURCE, "test/golden")


def output_of(*arguments):
    """Returns what gpuprof prints to standard output: nothing if it rejects the profile."""
    run = subprocess.run([rig.GPUPROF, *arguments], capture_output=True, text=True, check=False)
    return run.stdout


def text_of(file):
    with open(file, encoding="utf-8") as page:
        return page.read()


def reports():
    profiles = sorted(glob.glob(os.path.join(GOLDEN, "**/*.txt"), recursive=True))
    for profile in profiles:
        if os.path.basename(profile) == "CMakeLists.txt":
            continue
        for options in ([], ["--by", "rank", "--top", "0"], ["--kernel", "add|gemm|copy", "--sort", "avg"],
                        ["--from", "0s", "--to", "1s"]):
            yield f"{profile} {options}", output_of("report", "--json", "--lenient", *options, profile)
    if rig.why_not("opencl") is None:
        with tempfile.TemporaryDirectory() as folder:
            profile = os.path.join(folder, "p.txt")
            record = [rig.GPUPROF, "record", "-q", "-o", profile, "--", rig.EXAMPLE]
            subprocess.run(record, capture_output=True, check=True, timeout=120)
            yield "a recording of the example", output_of("report", "--json", "--top", "0", profile)


def differences():
    for old in sorted(glob.glob(os.path.join(GOLDEN, "diff/*.old.txt"))):
        new = old.replace(".old.txt", ".new.txt")
        for options in ([], ["--kernel", "add|gemm|copy"], ["--only", "main|train"]):
            yield f"{old} {options}", output_of("diff", "--json", *options, old, new)
            yield f"{old} {options}, several runs", output_of("diff", "--json", *options, old, old, "--", new, new, new)
    for golden in sorted(glob.glob(os.path.join(GOLDEN, "diff/*.json"))):
        yield golden, text_of(golden)


def verdicts():
    for golden in sorted(glob.glob(os.path.join(GOLDEN, "check/*.json"))):
        yield golden, text_of(golden)
    profiles = sorted(glob.glob(os.path.join(GOLDEN, "diff/*.old.txt")))
    for old in profiles:
        new = old.replace(".old.txt", ".new.txt")
        yield f"{old} {new}", output_of("check", "--json", "-", old, "--", new)


def budgets():
    for profile in sorted(glob.glob(os.path.join(GOLDEN, "diff/*.txt")) + glob.glob(os.path.join(GOLDEN, "check/*.txt"))):
        for option in ("--function", "--kernel"):
            for most in ("1ns", "1h"):
                yield f"{profile} {option} {most}", output_of("check", option, ".", "--max", most, "--json", "-", profile)


def exports():
    for profile in sorted(glob.glob(os.path.join(GOLDEN, "**/*.txt"), recursive=True)):
        if os.path.basename(profile) != "CMakeLists.txt":
            yield profile, output_of("export", "--format", "json", "--lenient", profile)
            yield f"{profile} --to 1s", output_of("export", "--format", "json", "--lenient", "--to", "1s", profile)


# Each entry: (schema, function that yields outputs, least number of outputs). The number makes a function without
# outputs fail.
SUITES = (("report.json", reports, 30), ("diff.json", differences, 15), ("check.json", verdicts, 6),
          ("check-budget.json", budgets, 15), ("export.json", exports, 20))


def faults(validator, text):
    return [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(json.loads(text))]


class Schemas(unittest.TestCase):
    def test_every_output_follows_its_schema(self):
        for file, outputs, least in SUITES:
            with open(os.path.join(rig.SOURCE, "docs/schema", file), encoding="utf-8") as page:
                schema = json.load(page)
            jsonschema.Draft202012Validator.check_schema(schema)
            validator = jsonschema.Draft202012Validator(schema)
            checked = 0
            for name, text in outputs():
                with self.subTest(schema=file, output=name):
                    if text:
                        self.assertEqual(faults(validator, text), [])
                        checked += 1
            self.assertGreaterEqual(checked, least, file)

    def test_the_validator_rejects_wrong_documents(self):
        with open(os.path.join(rig.SOURCE, "docs/schema/report.json"), encoding="utf-8") as page:
            validator = jsonschema.Draft202012Validator(json.load(page))
        good = json.loads(output_of("report", "--json", os.path.join(GOLDEN, "train.txt")))
        for spoil in ({"schema_version": 1}, {"gpu_ns": -1}, {"functions": [{}]}, {"a member of none": 1}):
            self.assertNotEqual(faults(validator, json.dumps({**good, **spoil})), [], spoil)


if __name__ == "__main__":
    rig.main()
