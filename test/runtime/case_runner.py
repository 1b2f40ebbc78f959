#!/usr/bin/env python3
"""Runs a file of runtime cases.

usage: case_runner.py FILE [PATTERN]     PATTERN: run only cases whose name contains it

A case is a block of lines KEY VALUE. Empty lines separate blocks; '#' starts a comment line.
  NAME     the behaviour that the case holds
  RUN      shell commands, run in a new folder; "$GPUPROF" and "$EXAMPLE" are the programs.
           Further RUN lines continue the same script
  EXIT     the expected exit status of the script (default 0)
  SIGNAL   instead of EXIT: the signal that must kill the script, e.g. SEGV (let the script end with exec)
  STDOUT, STDERR    a regular expression that must match there; may be repeated
  NOT_STDOUT, NOT_STDERR    a regular expression that must not match
  REQUIRES words of rig.why_not(), separated by blanks: the case is skipped if one is not met
  TIMEOUT  seconds (default 60)
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import rig

KEYS = {"NAME", "RUN", "EXIT", "SIGNAL", "STDOUT", "STDERR", "NOT_STDOUT", "NOT_STDERR", "REQUIRES", "TIMEOUT"}
SINGLE = {"NAME", "EXIT", "SIGNAL", "REQUIRES", "TIMEOUT"}


def parse(text, file):
    cases = []
    for block in re.split(r"\n\s*\n", text):
        case = {}
        for line in block.splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            key, _, value = line.partition(" ")
            if key not in KEYS or (key in SINGLE and key in case):
                raise SystemExit(f"{file}: not a line of a case: {line}")
            case.setdefault(key, []).append(value.strip())
        if case:
            if "NAME" not in case or "RUN" not in case:
                raise SystemExit(f"{file}: a case without NAME or RUN: {case}")
            cases.append(case)
    return cases


def faults_of(case, run):
    """Returns a list of sentences that say what is wrong with the outcome."""
    faults = []
    expected = int(case.get("EXIT", ["0"])[0])
    if "SIGNAL" in case:
        expected = -int(getattr(signal, "SIG" + case["SIGNAL"][0]))
    if run.returncode != expected:
        faults.append(f"exit status {run.returncode}, expected {expected}")
    for stream, text in (("STDOUT", run.stdout), ("STDERR", run.stderr)):
        for pattern in case.get(stream, []):
            if not re.search(pattern, text, re.MULTILINE):
                faults.append(f"not in {stream.lower()}: {pattern}")
        for pattern in case.get("NOT_" + stream, []):
            if re.search(pattern, text, re.MULTILINE):
                faults.append(f"in {stream.lower()}, where it must not be: {pattern}")
    return faults


def run_case(case):
    """Returns 'pass', 'skip: reason' or 'FAIL: reasons'."""
    reason = rig.unmet(" ".join(case.get("REQUIRES", [])).split())
    if reason:
        return f"skip: {reason}"
    timeout = float(case.get("TIMEOUT", ["60"])[0])
    with tempfile.TemporaryDirectory(prefix="gpuprof-test.") as folder:
        environment = {**os.environ, "GPUPROF": rig.GPUPROF, "EXAMPLE": rig.EXAMPLE}
        with subprocess.Popen(
                ["sh", "-c", "\n".join(case["RUN"])], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                start_new_session=True) as process:
            try:
                process.stdout_text, process.stderr_text = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return f"FAIL: still running after {timeout:g} s"
        run = subprocess.CompletedProcess(case["RUN"], process.returncode, process.stdout_text, process.stderr_text)
        faults = faults_of(case, run)
        if not faults:
            return "pass"
        shown = f"stdout:\n{run.stdout[-2000:]}\nstderr:\n{run.stderr[-2000:]}"
        return "FAIL: " + "; ".join(faults) + "\n" + shown


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    file = pathlib.Path(sys.argv[1])
    pattern = sys.argv[2] if len(sys.argv) == 3 else ""
    outcomes = []
    for case in parse(file.read_text(encoding="utf-8"), file):
        if pattern in case["NAME"][0]:
            begin = time.monotonic()
            outcome = run_case(case)
            print(f"{case['NAME'][0]} ({time.monotonic() - begin:.1f} s): {outcome}", flush=True)
            outcomes.append(outcome)
    if not outcomes:
        raise SystemExit(f"{file}: no case")
    if any(outcome.startswith("FAIL") for outcome in outcomes):
        sys.exit(1)
    sys.exit(rig.SKIPPED if all(outcome.startswith("skip") for outcome in outcomes) else 0)


if __name__ == "__main__":
    main()
