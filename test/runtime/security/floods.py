#!/usr/bin/env python3
"""A target that speaks src/wire/wire.h itself, and floods the recorder with records of one kind: floods.py KIND MIB, or
`floods.py processes COUNT`, or `floods.py reconnects MIB`. An honest process of the same recording runs meanwhile.

Prints what the honest process did, as JSON. The users that run this may only read this file and wire_layout.py.
"""

import ctypes
import json
import mmap
import os
import socket
import struct
import sys
import time

import wire_layout as wire
from wire_layout import RING, RING_BYTES, SEGMENT, record

RINGS = wire.RING_COUNT
HOST = wire.CORRELATION_HOST
MAX_WORDS = wire.STACK_MAX_WORDS
LONG = 60000  # bytes of a long text
LONGEST_SECONDS = 40  # maximum duration of a flood
CROWD_SECONDS = 3
WORK_NS = 1000  # duration of each honest kernel
KERNELS = ["honest_copy", "honest_scale", "honest_sum"]


def name(name_id, text):
    return record(wire.RECORD_NAME, wire.NAME, text, id=name_id, length=len(text))


def launch(correlation, stack=0, tid=1, range_id=0, thread=b"main"):
    return record(wire.RECORD_LAUNCH, wire.LAUNCH, correlation=correlation, time_ns=time.monotonic_ns(), tid=tid,
                  range=range_id, thread=thread, stack=stack)


def gpu_op(correlation, name_id=0, end=0, device=0, stream=1, op=0):
    end = end or time.monotonic_ns()
    return record(wire.RECORD_GPU_OP, wire.GPU_OP, correlation=correlation, start_ns=end - WORK_NS, end_ns=end,
                  stream=stream, name_id=name_id, device=device, op=op)


def run_work(correlation, name_id=0, **work):
    return launch(correlation) + gpu_op(correlation, name_id, **work)


def stack(stack_id, words):
    return record(wire.RECORD_STACK, wire.STACK, words, stack=stack_id, count=len(words) // 8)


def device(number, name_id, uuid_id):
    return record(wire.RECORD_DEVICE, wire.DEVICE, device=number, name_id=name_id, uuid_id=uuid_id)


def meta(text):
    return record(wire.RECORD_META, wire.META, text, length=len(text))


class Code:
    """Maps executable memory, so that addresses in it pass the recorder's checks. One mapping per process."""

    BYTES = 16 << 20
    memory, begin = None, 0

    @classmethod
    def random_words(cls, count):
        """Returns random addresses in the mapping, which rarely repeat."""
        if cls.memory is None:
            cls.memory = mmap.mmap(-1, 2 * cls.BYTES, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            cls.begin = -(-ctypes.addressof(ctypes.c_char.from_buffer(cls.memory)) // cls.BYTES) * cls.BYTES
        random, words = os.urandom(3 * count), bytearray(8 * count)
        for place, byte in enumerate(struct.pack("<Q", cls.begin)):
            words[place::8] = random[place::3] if place < 3 else bytes([byte]) * count
        return bytes(words)


class Target:
    """One connection that behaves like an injection library, except for its records."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect("\0" + os.environ["GPUPROF_SOCKET"])
        self.socket.send(wire.HELLO.make(magic=wire.WIRE_MAGIC, version=wire.WIRE_VERSION, backend=b"cupti",
                                         token=os.environ["GPUPROF_TOKEN"].encode()))
        self.memory = None
        self.head = [0] * RINGS
        self.next_ring = 0
        welcome, fds, _, _ = socket.recv_fds(self.socket, wire.WELCOME.size, 1)
        if len(welcome) == wire.WELCOME.size and fds:
            self.memory = mmap.mmap(fds[0], wire.SEGMENT_BYTES)
            SEGMENT.put(self.memory, "state", wire.STATE_ACTIVE)

    def put(self, records, until=None):
        """Writes records into a ring. Returns False if the ring had no space before `until`."""
        ring = self.next_ring
        self.next_ring = (ring + 1) % RINGS
        at = self.head[ring] % RING_BYTES
        pad = RING_BYTES - at if at + len(records) > RING_BYTES else 0
        while self.head[ring] + pad + len(records) - RING.get(self.memory, "tail", wire.ring(ring)) > RING_BYTES:
            if until is not None and time.monotonic() > until:
                return False
            time.sleep(0.001)
        data = wire.SEGMENT_DATA_OFFSET + ring * RING_BYTES
        if pad:
            wire.RECORD.pack_into(self.memory, data + at, wire.RECORD_PAD, pad)
            at = 0
        self.memory[data + at:data + at + len(records)] = records
        self.head[ring] += pad + len(records)
        RING.put(self.memory, "head", self.head[ring], wire.ring(ring))
        return True

    def launched(self, count):
        RING.put(self.memory, "launches", count, wire.ring(0))

    def finish(self):
        SEGMENT.put(self.memory, "state", wire.STATE_FINISHED)


def flood_stacks(i):
    return stack(i, Code.random_words(MAX_WORDS)) + launch(i, i) + gpu_op(i)


def flood_short_stacks(i):
    return b"".join(stack(n, Code.random_words(2)) + launch(n, n) + gpu_op(n) for n in range(50 * i, 50 * i + 50))


def flood_names(i):
    return name(i, f"{i}_".encode() + b"n" * LONG) + run_work(i, i)


def flood_short_names(i):
    return b"".join(name(n, f"kernel_{n}".encode()) + run_work(n, n)
                    for n in range(50 * i, 50 * i + 50))


def flood_devices(i):
    return (name(i, f"{i}_".encode() + b"d" * LONG) +
            device(i % 1000, i, i) + run_work(i, device=i % 1000))


def flood_modules(i):
    number = i % (wire.MAX_MODULES - 1) + 1
    return record(wire.RECORD_MODULE, wire.MODULE, b"/" + b"m" * 3999, start=number << 20, end=(number << 20) + 4096,
                  module=number, path_bytes=4000, marks=wire.MODULE_MARK.make(offset=2 ** 64 - 1) * 4)


def flood_threads(i):
    return b"".join(launch(n, tid=n, thread=f"thread {n}".encode()) + gpu_op(n, stream=n)
                    for n in range(50 * i, 50 * i + 50))


def flood_ranges(i):
    return b"".join(name(n, f"range {n}".encode()) + record(wire.RECORD_RANGE, wire.RANGE, id=n, parent=n // 2, name_id=n) +
                    launch(n, range_id=n) + gpu_op(n) for n in range(50 * i + 1, 50 * i + 51))


def flood_codes(i):
    return record(wire.RECORD_CODE, wire.CODE, b"c" * (4096 + 4096 + 50000), id=i, first_line=1, version=0x030b0000,
                  name_bytes=4096, file_bytes=4096, line_table_bytes=50000)


def flood_metas(i):
    return meta(f"key.{i}=".encode() + b"v" * LONG)


def flood_nodes(i):
    return b"".join(record(wire.RECORD_GRAPH_NODE, wire.GRAPH_NODE, node=n, time_ns=1)
                    for n in range(50 * i + 1, 50 * i + 51))


def flood_launches(i):
    return b"".join(launch(n) + launch(HOST | n) for n in range(50 * i + 1, 50 * i + 51))


def flood_times(i):
    now = time.monotonic_ns()
    return b"".join(run_work(n, end=now - n * 1000000 % now + WORK_NS, stream=n % 900, op=n % 9)
                    for n in range(50 * i + 1, 50 * i + 51))


RUNS = 3000  # records of flood_samples that report work; each has 150 work items


def flood_samples(i):
    """Reports much work of one kernel, among it one very long run, and then windows of samples in which nothing ran."""
    now = time.monotonic_ns()
    if i == 1:
        return name(1, b"k") + name(2, b"stall") + device(0, 1, 1) + launch(1) + record(
            wire.RECORD_GPU_OP, wire.GPU_OP, correlation=1, start_ns=1, end_ns=now, stream=1, name_id=1)
    if i <= RUNS:
        return b"".join(run_work(n, 1, end=now - n % 2900 * 10000000, stream=n % 151)
                        for n in range(150 * i, 150 * i + 150))
    return b"".join(record(wire.RECORD_SAMPLES, wire.SAMPLES, wire.SAMPLE_REASON.make(reason_id=2, samples=1), offset=n * 8,
                           function_id=1, window=n, count=1) +
                    record(wire.RECORD_SAMPLE_WINDOW, wire.SAMPLE_WINDOW, start_ns=now + 10 ** 9, end_ns=now + 10 ** 9 + 1,
                           handed=1, window=n) for n in range(50 * i + 1, 50 * i + 51))


def flood_everything(i):
    kinds = [kind for kind in FLOODS if kind not in ("everything", "samples")]
    return FLOODS[kinds[i % len(kinds)]](i)


FLOODS = {key[6:]: value for key, value in globals().items() if key.startswith("flood_")}


def hostile(kind, mib):
    target = Target()
    until = time.monotonic() + LONGEST_SECONDS
    i, left = 1, mib << 20
    while left > 0:
        records = FLOODS[kind](i)
        if not target.put(records, until):
            break
        i, left = i + 1, left - len(records)
    target.finish()


def reconnect(mib):
    """Sends long remarks. Connects again whenever the limit of one connection is reached, or gpuprof has ended it."""
    until = time.monotonic() + LONGEST_SECONDS
    left = mib << 20
    while left > 0 and time.monotonic() < until:
        target = Target()
        if target.memory is None:
            break  # refused
        for i in range(1000):
            remark = flood_metas(i)
            if not target.put(remark, until):
                break
            left -= len(remark)
        target.finish()
        target.socket.close()


def crowd(count):
    """Starts many processes at once; each fills its rings."""
    remark = meta(b"v")
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            target = Target()
            if target.memory is not None:
                for _ in range(RINGS):
                    target.put(remark * (RING_BYTES // len(remark)))
                time.sleep(CROWD_SECONDS)
                target.finish()
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def honest(begun, ended):
    """Launches three kernels in turn until the flooding processes have ended, and a little longer."""
    target = Target()
    words = [struct.pack("<3Q", 0x1000 + 16 * i, 0x2000, 0x3000) for i in range(3)]
    target.put(b"".join(name(i + 1, KERNELS[i].encode()) + stack(i + 1, words[i]) for i in range(3)) +
               name(9, b"honest GPU") + device(0, 9, 0))
    count, left = 0, 100
    while left > 0:
        for i in range(3):
            count += 1
            target.next_ring = 0
            target.put(launch(count, i + 1) + gpu_op(count, i + 1))
        target.launched(count)
        if count == 300:
            os.write(begun, b"x")
        try:
            over = os.read(ended, 1) == b"x"
        except BlockingIOError:
            over = False
        left -= 1 if over or left < 100 else 0
        time.sleep(0.003)
    target.finish()
    print(json.dumps({"records": count, "ns": count * WORK_NS}), flush=True)


def main():
    kind, amount = sys.argv[1], int(sys.argv[2])
    begun, say_begun = os.pipe()
    ended, say_ended = os.pipe()
    os.set_blocking(ended, False)
    child = os.fork()
    if child == 0:
        honest(say_begun, ended)
        os._exit(0)
    os.read(begun, 1)
    time.sleep(1)  # the recorder has read the first records by the end of this second
    attacker = os.fork()
    if attacker == 0:
        if kind == "processes":
            crowd(amount)
        elif kind == "reconnects":
            reconnect(amount)
        else:
            hostile(kind, amount)
        os._exit(0)
    os.waitpid(attacker, 0)
    os.write(say_ended, b"x")
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
