#!/usr/bin/env python3
"""A target that speaks src/wire/wire.h itself, and floods the recorder with one kind of thing: floods.py KIND MIB,
or `floods.py processes COUNT`.

An honest process of the same recording runs meanwhile. Prints what that one did, as JSON. Stands alone: the users that
run it may read nothing else of the tests.
"""

import ctypes
import json
import mmap
import os
import socket
import struct
import sys
import time

RINGS, RING_BYTES, DATA_OFFSET = 8, 4 << 20, 4096
RING_HEADERS, RING_HEADER = 512, 320
STATE, ACTIVE, FINISHED = 16, 1, 2
NAME, DEVICE, GPU_OP, LAUNCH, META, GRAPH_NODE, RANGE, STACK, CODE, MODULE = 1, 2, 3, 4, 5, 7, 8, 11, 12, 14
MORE, UNSAMPLED = 1, 2
HOST = 1 << 63
MAX_WORDS = 4096
LONG = 60000  # bytes of a long text
LONGEST_SECONDS = 40  # of a flood
CROWD_SECONDS = 3
WORK_NS = 1000  # of each honest kernel
KERNELS = ["honest_copy", "honest_scale", "honest_sum"]


def record(kind, body):
    size = -(-(8 + len(body)) // 8) * 8
    return struct.pack("<HHI", kind, 0, size) + body + bytes(size - 8 - len(body))


def name(name_id, text):
    return record(NAME, struct.pack("<II", name_id, len(text)) + text)


def launch(correlation, stack=0, tid=1, range_id=0, thread=b"main"):
    return record(LAUNCH, struct.pack("<QQII16sQ", correlation, time.monotonic_ns(), tid, range_id, thread, stack))


def gpu_op(correlation, name_id=0, end=0, device=0, stream=1, op=0, flags=0):
    end = end or time.monotonic_ns()
    return record(GPU_OP, struct.pack("<QQQQQQQIIHHIQII", correlation, end - WORK_NS, end, 0, 0, 0, stream, name_id, device,
                                      op, flags, 0, 0, 0, 0))


def stack(stack_id, words):
    return record(STACK, struct.pack("<QIHH", stack_id, len(words) // 8, 0, 0) + words)


class Code:
    """Mapped memory that may be executed, so that addresses in it are believed; one for each process."""

    BYTES = 16 << 20
    memory, begin = None, 0

    @classmethod
    def random_words(cls, count):
        """Addresses of it, hardly ever the same."""
        if cls.memory is None:
            cls.memory = mmap.mmap(-1, 2 * cls.BYTES, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            cls.begin = -(-ctypes.addressof(ctypes.c_char.from_buffer(cls.memory)) // cls.BYTES) * cls.BYTES
        random, words = os.urandom(3 * count), bytearray(8 * count)
        for place, byte in enumerate(struct.pack("<Q", cls.begin)):
            words[place::8] = random[place::3] if place < 3 else bytes([byte]) * count
        return bytes(words)


class Target:
    """One connection: what an injection library does, but for what it sends."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect("\0" + os.environ["GPUPROF_SOCKET"])
        self.socket.send(struct.pack("<II32s16sQ88s", 0x46525047, 4, os.environ["GPUPROF_TOKEN"].encode(), b"cupti", 0, b""))
        self.memory = None
        self.head = [0] * RINGS
        self.next_ring = 0
        welcome, fds, _, _ = socket.recv_fds(self.socket, 16, 1)
        if len(welcome) == 16 and fds:
            self.memory = mmap.mmap(fds[0], DATA_OFFSET + RINGS * RING_BYTES)
            struct.pack_into("<I", self.memory, STATE, ACTIVE)

    def _position(self, ring):
        return RING_HEADERS + RING_HEADER * ring

    def put(self, records, until=None):
        """False: there was no place until then."""
        ring = self.next_ring
        self.next_ring = (ring + 1) % RINGS
        at = self.head[ring] % RING_BYTES
        pad = RING_BYTES - at if at + len(records) > RING_BYTES else 0
        while self.head[ring] + pad + len(records) - struct.unpack_from("<Q", self.memory, self._position(ring) + 64)[0] > RING_BYTES:
            if until is not None and time.monotonic() > until:
                return False
            time.sleep(0.001)
        data = DATA_OFFSET + ring * RING_BYTES
        if pad:
            struct.pack_into("<HHI", self.memory, data + at, 0, 0, pad)
            at = 0
        self.memory[data + at:data + at + len(records)] = records
        self.head[ring] += pad + len(records)
        struct.pack_into("<Q", self.memory, self._position(ring), self.head[ring])
        return True

    def launched(self, count):
        struct.pack_into("<Q", self.memory, self._position(0) + 8, count)

    def finish(self):
        struct.pack_into("<I", self.memory, STATE, FINISHED)


def flood_stacks(i):
    return stack(i, Code.random_words(MAX_WORDS)) + launch(i, i) + gpu_op(i)


def flood_short_stacks(i):
    return b"".join(stack(n, Code.random_words(2)) + launch(n, n) + gpu_op(n) for n in range(50 * i, 50 * i + 50))


def flood_names(i):
    return name(i, f"{i}_".encode() + b"n" * LONG) + gpu_op(i, i, flags=UNSAMPLED)


def flood_short_names(i):
    return b"".join(name(n, f"kernel_{n}".encode()) + gpu_op(n, n, flags=UNSAMPLED)
                    for n in range(50 * i, 50 * i + 50))


def flood_devices(i):
    return (name(i, f"{i}_".encode() + b"d" * LONG) +
            record(DEVICE, struct.pack("<IIII", i % 1000, i, i, 0)) + gpu_op(i, device=i % 1000, flags=UNSAMPLED))


def flood_modules(i):
    number = i % 4095 + 1
    fixed = struct.pack("<QQQII", number << 20, (number << 20) + 4096, 0, number, 4000)
    return record(MODULE, fixed + (struct.pack("<Q", 2 ** 64 - 1) + bytes(16)) * 4 + b"/" + b"m" * 3999)


def flood_threads(i):
    return b"".join(launch(n, tid=n, thread=f"thread {n}".encode()) + gpu_op(n, stream=n)
                    for n in range(50 * i, 50 * i + 50))


def flood_ranges(i):
    return b"".join(name(n, f"range {n}".encode()) + record(RANGE, struct.pack("<IIII", n, n // 2, 0, n)) +
                    launch(n, range_id=n) + gpu_op(n) for n in range(50 * i + 1, 50 * i + 51))


def flood_codes(i):
    return record(CODE, struct.pack("<IIIIII", i, 1, 0x030b0000, 4096, 4096, 50000) + b"c" * (4096 + 4096 + 50000))


def flood_metas(i):
    text = f"key.{i}=".encode() + b"v" * LONG
    return record(META, struct.pack("<II", len(text), 0) + text)


def flood_nodes(i):
    return b"".join(record(GRAPH_NODE, struct.pack("<QQQQII", n, 0, 0, 1, 0, 0))
                    for n in range(50 * i + 1, 50 * i + 51))


def flood_launches(i):
    return b"".join(launch(n) + launch(HOST | n) for n in range(50 * i + 1, 50 * i + 51))


def flood_times(i):
    now = time.monotonic_ns()
    return b"".join(gpu_op(n, end=now - n * 1000000 % now + WORK_NS, flags=UNSAMPLED, stream=n % 900, op=n % 9)
                    for n in range(50 * i + 1, 50 * i + 51))


def flood_everything(i):
    kinds = [kind for kind in FLOODS if kind != "everything"]
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


def crowd(count):
    """Many processes at once, each of which fills its rings."""
    remark = record(META, struct.pack("<II", 1, 0) + b"v")
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
    """Three kernels, in turn, until the others have ended; then a little longer."""
    target = Target()
    words = [struct.pack("<3Q", 0x1000 + 16 * i, 0x2000, 0x3000) for i in range(3)]
    target.put(b"".join(name(i + 1, KERNELS[i].encode()) + stack(i + 1, words[i]) for i in range(3)) +
               name(9, b"honest GPU") + record(DEVICE, struct.pack("<IIII", 0, 9, 0, 0)))
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
    time.sleep(1)  # what it has sent is kept by now
    attacker = os.fork()
    if attacker == 0:
        if kind == "processes":
            crowd(amount)
        else:
            hostile(kind, amount)
        os._exit(0)
    os.waitpid(attacker, 0)
    os.write(say_ended, b"x")
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
