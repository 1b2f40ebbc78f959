#!/usr/bin/env python3
"""Validates the machine-readable outputs of `check` with third-party readers: junitparser and xmllint for JUnit XML,
python3-jsonschema for JSON, and GitHub's documented grammar of workflow commands for annotations."""

import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "../../../docs/schema/check.json")
COMMAND = re.compile(r"::(error|warning|notice) title=((?:[^%:,\r\n]|%(?:25|0D|0A|3A|2C))*)::((?:[^%\r\n]|%(?:25|0D|0A))*)")
SKIPPED = 77

try:
    import jsonschema
    import junitparser
except ImportError as missing:
    DISTRIBUTION = "/usr/bin/python3"
    if os.path.realpath(sys.executable) != os.path.realpath(DISTRIBUTION) and os.path.exists(DISTRIBUTION):
        os.execv(DISTRIBUTION, [DISTRIBUTION, *sys.argv])
    print(f"skipped: {missing} (packages python3-jsonschema, python3-junitparser)")
    sys.exit(SKIPPED)


def files(suffix):
    found = sorted(glob.glob(os.path.join(HERE, "*." + suffix)))
    assert len(found) >= 5, suffix
    return found


def read(file):
    with open(file, encoding="utf-8", newline="") as stream:
        return stream.read()


def expect(what, good, detail=""):
    if not good:
        sys.exit(f"FAILED: {what} {detail}")


def check_json():
    schema = json.loads(read(SCHEMA))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for file in files("json"):
        value = json.loads(read(file))
        faults = [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(value)]
        expect(file, not faults, "\n".join(faults))
        for spoil in ({"outcome": "green"}, {"findings": [{}]}, {"more": 1}):
            expect("the validator can fail", not validator.is_valid({**value, **spoil}), spoil)


def check_junit():
    for file in files("junit"):
        subprocess.run(["xmllint", "--noout", file], check=True)
        suites = junitparser.JUnitXml.fromfile(file)
        outcome = json.loads(read(file[: -len("junit")] + "json"))
        cases = [case for suite in suites for case in suite]
        results = [type(result) for case in cases for result in case.result]
        slower = sum(f["verdict"] == "slower" and f["what"] != "path" for f in outcome["findings"])
        failures = slower + 1 if outcome["outcome"] == "regression" else 0  # the verdict is one more failure
        errors = int(outcome["outcome"] == "inconclusive")
        expect(file, results.count(junitparser.Failure) == failures, results)
        expect(file, results.count(junitparser.Error) == errors, results)
        declared = [(suite.tests, suite.failures, suite.errors) for suite in suites]
        expect(file, declared == [(len(cases), failures, errors)], declared)


def check_annotations():
    for file in files("annotations"):
        lines = read(file).split("\n")
        expect(file, lines.pop() == "" and lines, "ends with a line")
        for line in lines:
            expect(file, COMMAND.fullmatch(line), line)


check_json()
check_junit()
check_annotations()
