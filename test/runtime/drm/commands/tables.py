"""Reads the tables of src/wire/gpu_commands.h."""

import collections
import os
import re
from pathlib import Path

HEADER = Path(os.environ["GPUPROF_SOURCE"]) / "src/wire/gpu_commands.h"
Command = collections.namedtuple("Command", "opcode mask length_bits names source")
Kernels = collections.namedtuple("Kernels", "opcode dwords bits is_shader at")


def commands():
    """Returns {opcode in bits 31:16: Command}."""
    found = re.findall(r'ROW\((0x\w{4}), (0x\w{4}), (\d+), "([^"]+)", "([^"]+)"\)', HEADER.read_text())
    rows = [Command(int(opcode, 16), int(mask, 16), int(bits), names.split(" / "), source)
            for opcode, mask, bits, names, source in found]
    assert len(rows) == len({row.opcode for row in rows}) > 200
    return {row.opcode: row for row in rows}


def kernels():
    """Returns {(opcode, dwords): Kernels}."""
    found = re.findall(r"ROW\((0x\w{4}), (\d+), (\d+), ([01]), (\d+), (\d+), (\d+), \"", HEADER.read_text())
    rows = [Kernels(int(row[0], 16), int(row[1]), int(row[2]), row[3] == "1", [int(at) for at in row[4:7] if at != "0"])
            for row in found]
    assert len(rows) == len({row[:2] for row in rows}) > 10
    return {row[:2]: row for row in rows}
