#!/usr/bin/env python3
"""Compares the tables of wire/gpu_commands.h with their sources, in git repositories on this machine.

usage: GPUPROF_SOURCE=. check_sources.py [MESA [COMPUTE_RUNTIME]]
The default paths are $GPUPROF_MESA and $GPUPROF_COMPUTE_RUNTIME. Without both, the check is skipped.
"""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import intel_encodings as encodings
import tables

COMMANDS = tables.commands()
KERNELS = tables.kernels()
# The engines of these commands run no kernels.
OTHER_ENGINES = ("video",)


def files(repository, folder, pattern):
    """Returns {name: text} of the newest commit's files."""
    listing = subprocess.run(["git", "-C", repository, "ls-tree", "-r", "--name-only", "HEAD", folder], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.split()
    return {os.path.basename(path): subprocess.run(["git", "-C", repository, "show", f"HEAD:{path}"], check=True, text=True,
                                                   stdout=subprocess.PIPE).stdout
            for path in listing if re.search(pattern, path)}


def problem(source, name, first, dwords, length_bits, starts):
    """Returns what our tables say differently about a command. `starts`: [(dword, bits)] of its kernels."""
    ours = next((ours for ours in COMMANDS.values() if first >> 16 & ours.mask == ours.opcode), None)
    if ours is None or name not in ours.names:
        return f"{source}: {name} {first:#x} is {ours.names if ours else 'unknown'} in our table"
    if length_bits > ours.length_bits or (length_bits == 0) != (ours.length_bits == 0):
        return f"{source}: the length of {name} has {length_bits} bits, but {ours.length_bits} in our table"
    kernels = KERNELS.get((ours.opcode, dwords))
    at = [(dword, kernels.bits) for dword in kernels.at] if kernels else []
    if at[:len(starts)] != starts or (at and not starts):
        return f"{source}: the kernels of {name} with {dwords} dwords begin at {starts}, but at {at} in our table"
    return None


def mesa_elements(all_files, name):
    """Returns {(tag, name): element} of a file, with those that it imports."""
    root = xml.fromstring(all_files[name])
    found = {}
    for imported in root.findall("import"):
        excluded = {one.get("name") for one in imported.findall("exclude")}
        found |= {key: element for key, element in mesa_elements(all_files, imported.get("name")).items()
                  if key[1] not in excluded}
    return found | {(element.tag, element.get("name")): element for element in root}


def mesa_starts(elements, element, offset=0):
    for field in element.findall("field"):
        start, end = offset + int(field.get("start")), offset + int(field.get("end"))
        if "Kernel Start Pointer" in field.get("name"):
            yield start // 32, end - start + 1
        if ("struct", field.get("type")) in elements:
            yield from mesa_starts(elements, elements["struct", field.get("type")], start)


def mesa(repository):
    all_files = files(repository, "src/intel/genxml", r"/(gen|xe)\w+\.xml$")
    for name in sorted(all_files):
        if not re.match(r"gen(8|9|11|12|125|20|30|200|300)\.xml|xe\w*\.xml", name) or "_rt" in name:
            continue
        elements = mesa_elements(all_files, name)
        for (tag, command), element in elements.items():
            if tag != "instruction" or element.get("engine") in OTHER_ENGINES:
                continue
            first, length_bits = 0, 0
            for field in element.findall("field"):
                start, end = int(field.get("start")), int(field.get("end"))
                if field.get("name") in ("DWord Length", "Length") and start == 0:
                    length_bits = end + 1
                elif field.get("default") is not None and 16 <= start and end < 32:
                    first |= int(field.get("default"), 0) << start
            yield f"Mesa {name}", command, first, int(element.get("length") or 0), length_bits, list(mesa_starts(elements, element))


def compute_runtime(repository):
    """Reads the commands that hold the interface descriptor of a kernel."""
    for name, text in files(repository, "shared/source/generated", r"xe\w*\.inl$").items():
        for command, body in re.findall(r"typedef struct tag(COMPUTE_WALKER\w*) \{(.*?)\n\} COMPUTE_WALKER", text, re.S):
            value = lambda field, body=body: int(re.search(rf"\b{field}\w* = (0x\w+)", body).group(1), 16)
            first = 3 << 29 | value("PIPELINE_COMPUTE") << 27 | value("COMPUTE_COMMAND_OPCODE") << 24 | value(f"CFE_SUBOPCODE_{command}") << 18
            dwords = int(re.search(r"RawData\[(\d+)\]", body).group(1))
            bits = 58 if "INTERFACE_DESCRIPTOR_DATA_2 " in body else 26
            # The sum of the fields' bits before the descriptor.
            before = body[:re.search(r"INTERFACE_DESCRIPTOR_DATA\w* InterfaceDescriptor;", body).start()]
            at = sum(int(end) + 1 - int(start) for start, end in re.findall(r"BITFIELD_RANGE\((\d+), (\d+)\)", before))
            at += 32 * len(re.findall(r"uint32_t \w+;", before)) + 64 * len(re.findall(r"uint64_t \w+;", before))
            at += sum(32 * int(count) for count in re.findall(r"uint32_t \w+\[(\d+)\];", before))
            assert value("DWORD_LENGTH_FIXED_SIZE") + 2 == dwords
            yield name, command, first, dwords, 8, [(at // 32, bits)]


def bases_off(repository):
    """Returns {generation: {dword: bit}}, where STATE_BASE_ADDRESS switches the base addresses off."""
    found = {}
    for name, text in files(repository, "shared/source/generated", r"xe\w*\.inl$").items():
        for dword, bit in re.findall(r"// DWORD (\d+)\n(?:(?!// DWORD).)*?BaseAddressDisable : BITFIELD_RANGE\((\d+),", text, re.S):
            found[re.search(r"xe3p|xe\d?", name).group()] = {int(dword): 1 << int(bit)}
    return found


def main():
    paths = [*sys.argv[1:], *(os.environ.get(name) for name in ("GPUPROF_MESA", "GPUPROF_COMPUTE_RUNTIME")[len(sys.argv) - 1:])]
    readers = [(reader, path) for reader, path in zip((mesa, compute_runtime), paths) if path]
    if not readers:
        print("skipped: no repository is given: set GPUPROF_MESA or GPUPROF_COMPUTE_RUNTIME")
        return 77
    found = [command for reader, path in readers for command in reader(path)]
    problems = [text for text in (problem(*command) for command in found) if text]
    for reader, path in readers:
        if reader is compute_runtime and bases_off(path) != encodings.BASES_OFF:
            problems.append(f"base addresses are switched off by {bases_off(path)}, but by {encodings.BASES_OFF} in our table")
    print(*problems, sep="\n")
    print(f"{len(found)} commands of {len({command[0] for command in found})} files, {len(problems)} differences")
    return 1 if problems or not found else 0


if __name__ == "__main__":
    sys.exit(main())
