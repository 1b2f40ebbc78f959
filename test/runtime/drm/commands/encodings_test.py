#!/usr/bin/env python3
"""Compares the tables of wire/gpu_commands.h with intel_encodings.py, and scans random batches of that grammar."""

import collections
import os
import random
import struct
import subprocess
import unittest

import intel_encodings as encodings
import tables

ENDED, UNKNOWN = 1, 4  # enum gpuprof_batch_state
NO_BASE = 1  # GPUPROF_BATCH_NO_BASE
# Commands that no batch of the engines with kernels holds: they are for the GSC engine, and for context images.
NOT_IN_BATCHES = {"GSC_FW_LOAD", "GSC_HECI_CMD_PKT", "STATE_WRITE_INLINE"}
# The scan follows these commands to other memory, which batch_scan_test.cpp tests.
OTHER_MEMORY = {"MI_BATCH_BUFFER_START", "MI_BATCH_BUFFER_END", "GPGPU_WALKER", "MEDIA_INTERFACE_DESCRIPTOR_LOAD"}


def rows(generation=None):
    return [row for row in encodings.rows(generation) if row.name not in NOT_IN_BATCHES]


class Tables(unittest.TestCase):
    def setUp(self):
        self.commands = tables.commands()
        self.kernels = tables.kernels()

    def ours(self, row):
        """Returns the row of our table for a row of the other one."""
        return next((ours for ours in self.commands.values() if row.value >> 16 & ours.mask == ours.opcode), None)

    def test_each_command_has_the_same_name_opcode_and_length(self):
        for row in rows():
            ours = self.ours(row)
            self.assertIsNotNone(ours, row)
            self.assertIn(row.name, ours.names, row)
            # Our mask is the one of the type. It may cover bits that only some generations use for the opcode.
            self.assertEqual(ours.mask & row.mask >> 16, ours.mask, row)
            bits = 0 if row.length_bits is None else row.length_bits[0] + 1
            self.assertEqual(bits == 0, ours.length_bits == 0, row)
            self.assertLessEqual(bits, ours.length_bits, row)

    def test_each_of_our_commands_is_in_the_other_table(self):
        named = {row.name for row in rows()}
        for ours in self.commands.values():
            self.assertLessEqual(set(ours.names), named)
            self.assertEqual(ours.length_bits, max(0 if row.length_bits is None else row.length_bits[0] + 1
                                                   for row in rows() if row.name in ours.names), ours)

    def test_kernels_begin_at_the_same_bits(self):
        used = set()
        for row in rows():
            key = (self.ours(row).opcode, row.dwords)
            ours = self.kernels.get(key)
            if not row.kernels():
                self.assertIsNone(ours, row)
                continue
            used.add(key)
            self.assertEqual({pointer.low for pointer in row.kernels()}, {6}, row)
            self.assertEqual({pointer.bits for pointer in row.kernels()}, {ours.bits}, row)
            theirs = [pointer.dword for pointer in row.kernels()]
            # The third kernel of 3DSTATE_PS is gone since Xe2. Its dword is reserved there.
            self.assertEqual(ours.at[:len(theirs)], theirs, row)
            self.assertTrue(len(theirs) == len(ours.at) or row.name == "3DSTATE_PS", row)
        self.assertEqual(used, set(self.kernels))


def by_value():
    """Returns {bits 31:16 of the first dword: rows}."""
    found = collections.defaultdict(list)
    for row in rows():
        found[row.value >> 16].append(row)
    return found


class Batches(unittest.TestCase):
    SEED = int(os.environ.get("GPUPROF_TEST_SEED", "1"))
    BY_VALUE = by_value()

    def scan(self, batches):
        """Returns (state, unknown command, base address, [start addresses]) for each batch."""
        text = b"".join(struct.pack("<I", len(batch) // 4) + batch for batch in batches)
        out = subprocess.run([os.environ["SCAN_BATCH"]], input=text, stdout=subprocess.PIPE, check=True).stdout.decode()
        found = []
        for line in out.splitlines():
            state, unknown, base, *starts = line.split()
            found.append((int(state), int(unknown, 16), int(base, 16), [int(start, 16) for start in starts]))
        return found

    @staticmethod
    def command(row, rng):
        """Returns a command with random flags, lengths and content, and its (kind, address) pairs."""
        length = row.dwords
        if row.length_bits and (length is None or (not row.pointers and rng.random() < 0.3)):
            length = rng.randrange(2, min(600, (1 << (row.length_bits[0] + 1)) + 1))
        addresses = []
        for pointer in row.pointers:
            bits = min(pointer.bits + pointer.low, 48)
            low = max(pointer.low, 6)
            addresses.append(rng.randrange(1, 1 << (bits - low)) << low)
        # Bits that are part of the length in other generations are 0.
        widest = max(other.length_bits[0] + 1 if other.length_bits else 0 for other in Batches.BY_VALUE[row.value >> 16])
        flags = rng.getrandbits(32) & ~row.mask & ~((1 << widest) - 1)
        # These bits belong to the opcode in our table, and are reserved in generations that do not use them.
        flags &= 0x007fffff if row.value >> 29 == 0 else 0x0000ffff if row.value >> 29 == 3 else 0x003fffff
        data = bytearray(encodings.encode(row.name, row.generation, addresses or None,
                                          None if row.length_bits is None else length, flags if row.length_bits else 0))
        taken = {at for pointer in row.pointers for at in (pointer.dword, pointer.dword + pointer.is64)}
        if row.name == "3DSTATE_PS":
            taken |= {10, 11}  # reserved since Xe2
        for at in range(1, len(data) // 4):
            if at not in taken:
                struct.pack_into("<I", data, 4 * at, rng.getrandbits(32))
        if row.name == "STATE_BASE_ADDRESS":
            for at, bit in encodings.BASES_OFF["xe3p"].items():  # this bit is reserved in earlier generations
                old, = struct.unpack_from("<I", data, 4 * at)
                struct.pack_into("<I", data, 4 * at, old & ~bit)
        for pointer in row.kernels():  # flags below an address
            old, = struct.unpack_from("<I", data, 4 * pointer.dword)
            struct.pack_into("<I", data, 4 * pointer.dword, old | rng.getrandbits(6))
        return bytes(data), [(pointer.kind, address) for pointer, address in zip(row.pointers, addresses)]

    def random_batch(self, generation, rng, count):
        """Returns the commands of a batch without its end, its base address and its start addresses."""
        choice = [row for row in rows(generation) if row.name not in OTHER_MEMORY]
        with_kernels = [row for row in choice if row.kernels()] or choice
        parts, base, starts = [], 0, []
        for _ in range(count):
            data, addresses = self.command(rng.choice(with_kernels if rng.random() < 0.2 else choice), rng)
            parts.append(data)
            for kind, address in addresses:
                if kind == "instruction_base":
                    base = address & ~0xfff
                elif kind in ("kernel", "sip"):
                    starts.append(address & ~63 | (kind == "sip"))
        return b"".join(parts), base, starts

    def batches(self, generation, rng, count):
        made = []
        while len(made) < count:
            batch, base, starts = self.random_batch(generation, rng, rng.randrange(1, 60))
            if len(starts) <= 60:
                made.append((batch, base, starts))
        return made

    def test_random_batches_of_each_generation_are_read_completely(self):
        for generation in encodings.GENERATIONS:
            rng = random.Random(f"{self.SEED} {generation}")
            made = self.batches(generation, rng, 400)
            self.assertGreater(sum(len(starts) for _, _, starts in made), 1000)
            end = encodings.encode("MI_BATCH_BUFFER_END", generation)
            for (_, base, starts), found in zip(made, self.scan([batch + end for batch, _, _ in made])):
                self.assertEqual(found[:3], (ENDED, 0, base), generation)
                self.assertEqual(set(found[3]), set(starts), generation)

    def test_a_batch_can_switch_base_addresses_off(self):
        address = 0x8000_1234_5640
        for off, base in ((None, 0x2000), (encodings.BASES_OFF["xe3p"], NO_BASE)):
            batch = (encodings.encode("STATE_BASE_ADDRESS", "xe3p", 0x2000, words=off) +
                     encodings.encode("COMPUTE_WALKER_2", "xe3p", address) + encodings.encode("MI_BATCH_BUFFER_END", "xe3p"))
            self.assertEqual(self.scan([batch]), [(ENDED, 0, base, [address])])

    def test_a_random_batch_is_read_up_to_an_unknown_command(self):
        """The unknown dwords are those that no generation knows, which hold everything that a batch must not."""
        rng = random.Random(f"{self.SEED} unknown")
        unknown = [dword for dword in (rng.getrandbits(32) for _ in range(3000))
                   if all(encodings.identify(dword, generation) is None for generation in encodings.GENERATIONS)]
        self.assertGreater(len(unknown), 1000)
        made = self.batches("xe2", rng, 300)
        chosen = [rng.choice(unknown) for _ in made]
        batches = [batch + struct.pack("<I", dword) + encodings.encode("COMPUTE_WALKER", "xe2", 0x40)
                   for (batch, _, _), dword in zip(made, chosen)]
        for (_, base, starts), dword, found in zip(made, chosen, self.scan(batches)):
            self.assertEqual(found[:3], (UNKNOWN, dword, base), hex(dword))
            self.assertEqual(set(found[3]), set(starts))


if __name__ == "__main__":
    unittest.main(verbosity=2)
