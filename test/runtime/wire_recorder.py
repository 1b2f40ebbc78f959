"""A recorder for tests of injection libraries: speaks src/wire/wire.h, and keeps what it was sent as plain values.

As a program it records a command and prints one JSON object per record:  wire_recorder.py -- command...
"""

import fcntl
import json
import mmap
import os
import secrets
import socket
import struct
import subprocess
import sys
import threading
import time

MAGIC = 0x46525047
VERSION = 5
RINGS = 8
RING_BYTES = 4 << 20
DATA_OFFSET = 4096
SEGMENT_BYTES = DATA_OFFSET + RINGS * RING_BYTES
FIRST_RING = 512
RING_HEADER = 320
OPTIONS = 256  # offset; flags, pad, nvtx_range
STACK_SHARE = 248
ALL_STACKS = 65536

CONTROL_ENABLED, CONTROL_LAUNCH_RECORDS, CONTROL_FLUSH, CONTROL_CALLS, CONTROL_RETRACT = 1, 2, 4, 8, 16
OPTION_LATENCY, OPTION_WHOLE_GRAPHS, OPTION_ATTACHED, OPTION_STACKS = 1, 2, 4, 8
WORD_PYTHON, WORD_EVAL, WORD_EXACT, WORD_ADDRESS = 1 << 63, 1 << 62, 1 << 61, (1 << 57) - 1  # src/wire/stack.h
STACK_TRUNCATED, STACK_NO_PYTHON = 1, 2
HOST, NODE, EXEC = 1 << 63, 1 << 62, 1 << 61  # bits of correlation ids
STATES = ["starting", "active", "finished", "disabled"]
LOSSES = ["ring_full", "ring_busy", "vendor_dropped", "invalid_timestamp", "no_timing", "out_of_memory", "reentrant",
          "unfinished", "range_limit", "stack", "detail", "kernel_name"]
COUNTS = ["captured", "failed", "unsampled", "outside", "gpu_ops"]
OPS = ["kernel", "copy_htod", "copy_dtoh", "copy_dtod", "copy_htoh", "copy_ptop", "copy", "fill", "other", "graph"]
HOST_OPS = ["sync", "alloc", "free", "fault_gpu", "fault_cpu", "migrate_htod", "migrate_dtoh"]
NO_DEVICE = 0xFFFFFFFF

F_ADD_SEALS, F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW = 1033, 1, 2, 4  # linux/fcntl.h

HELLO = struct.Struct("<II32s16sQ88s")
WELCOME = struct.Struct("<IIII")
HEADER = struct.Struct("<HHI")
GPU_OP = struct.Struct("<8xQQQQQQQIIHHIQII")
LAUNCH = struct.Struct("<8xQQII16sQ")
HOST_OP = struct.Struct("<8xQQQQQIIIHH")
GRAPH_NODE = struct.Struct("<8xQQQQII")
GRAPH_LAUNCH = struct.Struct("<8xQQQIIIIII")
RANGE = struct.Struct("<8xIIII")
CALL = struct.Struct("<8xQQQII")
SPAN = struct.Struct("<8xQQII")
STACK = struct.Struct("<8xQIHH")
MODULE = struct.Struct("<8xQQQII96x")
CODE = struct.Struct("<8xIIIIII")
PYTHON = struct.Struct("<IIQQQ")  # the first fields of gpuprof_python_layout


class Source:
    """One segment: what one process sent through one injection library."""

    def __init__(self, source_id, backend, pid, settings):
        self.id, self.backend, self.pid = source_id, backend, pid
        self.fd = os.memfd_create("wire-recorder", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, SEGMENT_BYTES)
        fcntl.fcntl(self.fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)
        self.memory = mmap.mmap(self.fd, SEGMENT_BYTES)
        struct.pack_into("<IIII", self.memory, 0, MAGIC, VERSION, source_id, settings["control"])
        struct.pack_into("<I", self.memory, STACK_SHARE, settings["stack_share"])
        struct.pack_into("<II120s", self.memory, OPTIONS, settings["options"], 0, settings["nvtx_range"].encode())
        self.names, self.devices, self.uuids, self.meta, self.ranges = {}, {}, {}, {}, {}
        self.gpu_ops, self.launch_records, self.host_ops = [], [], []
        self.graph_nodes, self.graph_launches = [], []
        self.calls, self.spans = [], []
        self.stacks = {}  # correlation ids with the HOST or NODE bit -> (tid, thread)
        self.stack_words = {}  # stack id -> (words, flags)
        self.stack_of = {}  # correlation id -> stack id, where a stack was taken
        self.modules = {}  # module number -> (start, end, offset, path)
        self.mappings_changed = 0
        self.codes = {}  # code id -> {version, first_line, name, file, line_table}
        self.python = {}  # what runs Python: {version, flags, code_type, eval_begin, eval_end}
        self.beat()

    def beat(self, seconds_ago=0):
        struct.pack_into("<Q", self.memory, 24, max(time.monotonic_ns() - seconds_ago * 1000000000, 1))

    @property
    def control(self):
        return struct.unpack_from("<I", self.memory, 12)[0]

    @control.setter
    def control(self, value):
        struct.pack_into("<I", self.memory, 12, value)

    @property
    def stack_share(self):
        return struct.unpack_from("<I", self.memory, STACK_SHARE)[0]

    @stack_share.setter
    def stack_share(self, value):
        struct.pack_into("<I", self.memory, STACK_SHARE, value)

    @property
    def state(self):
        return STATES[struct.unpack_from("<I", self.memory, 16)[0]]

    @property
    def flushed(self):
        return struct.unpack_from("<I", self.memory, 20)[0] == 1

    @property
    def reason(self):
        return self.memory[32:32 + 216].split(b"\0")[0].decode()

    def _ring_values(self, offset, count):
        values = [struct.unpack_from(f"<{count}Q", self.memory, FIRST_RING + RING_HEADER * ring + offset)
                  for ring in range(RINGS)]
        return [sum(column) for column in zip(*values)]

    @property
    def launches(self):
        return self._ring_values(8, 1)[0]

    @property
    def lost(self):
        counts = self._ring_values(128, len(LOSSES))
        return {name: count for name, count in zip(LOSSES, counts) if count}

    @property
    def counts(self):
        counts = self._ring_values(256, len(COUNTS))
        return {name: count for name, count in zip(COUNTS, counts) if count}

    @property
    def overhead_samples(self):
        return self._ring_values(16, 1)[0]

    def drain(self):
        for ring in range(RINGS):
            header = FIRST_RING + RING_HEADER * ring
            head, = struct.unpack_from("<Q", self.memory, header)
            tail, = struct.unpack_from("<Q", self.memory, header + 64)
            data = DATA_OFFSET + ring * RING_BYTES
            while tail < head:
                at = data + tail % RING_BYTES
                kind, _, size = HEADER.unpack_from(self.memory, at)
                if size < 8 or size % 8 or tail + size > head or tail % RING_BYTES + size > RING_BYTES:
                    raise AssertionError(f"record of kind {kind} and size {size} at {tail}, head {head}")
                self._take(kind, self.memory[at:at + size])
                tail += size
            struct.pack_into("<Q", self.memory, header + 64, tail)

    def _take(self, kind, record):
        if kind == 1:
            name_id, length = struct.unpack_from("<II", record, 8)
            assert name_id != 0 and name_id not in self.names, f"name id {name_id} given twice"
            self.names[name_id] = record[16:16 + length].decode()
        elif kind == 2:
            device, name_id, uuid_id = struct.unpack_from("<III", record, 8)
            self.devices[device], self.uuids[device] = name_id, uuid_id
        elif kind == 3:
            fields = GPU_OP.unpack(record)
            self.gpu_ops.append(dict(zip(
                ["correlation", "start", "end", "queued", "submitted", "bytes", "stream", "name_id", "device", "op",
                 "flags", "context", "graph_node", "tid", "range"], fields)))
        elif kind == 4:
            correlation, when, tid, range_id, thread, stack = LAUNCH.unpack(record)
            if stack != 0:
                self.stack_of[correlation] = stack
            name = thread.split(b"\0")[0].decode()
            if correlation & (HOST | NODE):
                self.stacks[correlation] = (tid, name)
            else:
                self.launch_records.append((correlation, tid, name, when, range_id))
        elif kind == 5:
            length, = struct.unpack_from("<I", record, 8)
            key, _, value = record[16:16 + length].decode().partition("=")
            self.meta[key] = value
        elif kind == 6:
            self.host_ops.append(dict(zip(
                ["correlation", "start", "end", "bytes", "count", "name_id", "device", "tid", "op"],
                HOST_OP.unpack(record))))
        elif kind == 7:
            self.graph_nodes.append(dict(zip(["node", "original", "launch", "time", "flags", "name_id"],
                                             GRAPH_NODE.unpack(record))))
        elif kind == 8:
            range_id, *rest = RANGE.unpack(record)
            assert range_id != 0 and range_id not in self.ranges, f"range id {range_id} given twice"
            self.ranges[range_id] = dict(zip(["parent", "domain_id", "name_id"], rest))
        elif kind == 9:
            self.calls.append(dict(zip(["correlation", "start", "end", "name_id", "tid"], CALL.unpack(record))))
        elif kind == 10:
            self.spans.append(dict(zip(["start", "end", "range", "tid"], SPAN.unpack(record))))
        elif kind == 11:
            stack, count, flags, modules = STACK.unpack_from(record)
            assert stack != 0 and count != 0, "a stack without id or words"
            for module in struct.unpack_from(f"<{modules}Q", record, STACK.size + 8 * count):
                assert module in self.modules, f"a stack in a module {module} that is not known"
            words = list(struct.unpack_from(f"<{count}Q", record, STACK.size))
            assert self.stack_words.setdefault(stack, (words, flags)) == (words, flags), "one id for two stacks"
        elif kind == 12:
            self._take_code(record)
        elif kind == 13:
            self.take_python(record[8:])
        elif kind == 16:
            self.graph_launches.append(dict(zip(["correlation", "time", "finished", "exec", "stream", "flags", "tid",
                                                 "range"], GRAPH_LAUNCH.unpack(record))))
        elif kind == 14:
            start, end, offset, module, length = MODULE.unpack_from(record)
            path = record[MODULE.size:MODULE.size + length].decode()
            known = self.modules.setdefault(module, (start, end, offset, path))
            assert known == (start, end, offset, path), f"module number {module} given twice"
        elif kind == 15:
            self.mappings_changed += 1
        else:
            assert kind == 0, f"unknown record kind {kind}"

    def _take_code(self, record):
        code_id, first_line, version, *sizes = CODE.unpack_from(record)
        assert 1 <= code_id < 1 << 31 and len(record) >= CODE.size + sum(sizes), f"a strange code object {code_id}"
        parts, at = [], CODE.size
        for size in sizes:
            parts.append(record[at:at + size])
            at += size
        code = dict(zip(["version", "first_line", "name", "file", "line_table"],
                        [version, first_line, parts[0].decode(), parts[1].decode(), parts[2]]))
        assert self.codes.setdefault(code_id, code) == code, f"code id {code_id} given twice"

    def take_python(self, layout):
        fields = dict(zip(["version", "flags", "code_type", "eval_begin", "eval_end"], PYTHON.unpack_from(layout)))
        if fields["version"] != 0:
            self.python = fields

    def totals(self):
        """As the mock applications print them: {name or operation: {count, ns, bytes}}."""
        result = {}
        for op in self.gpu_ops:
            kind = OPS[op["op"]]
            name = self.names[op["name_id"]] if kind == "kernel" else kind
            entry = result.setdefault(name, {"count": 0, "ns": 0, "bytes": 0})
            entry["count"] += 1
            entry["ns"] += op["end"] - op["start"]
            entry["bytes"] += op["bytes"]
        return result


    def host_totals(self):
        """As the mock applications print them, without times."""
        result = {}
        for op in self.host_ops:
            entry = result.setdefault(HOST_OPS[op["op"]], {"count": 0, "ns": 0, "bytes": 0})
            entry["count"] += op["count"]
            entry["bytes"] += op["bytes"]
        return result


class Recorder:
    """Listens for targets; `sources` fills as they connect. Drained by close(), and by a thread until then."""

    def __init__(self, control=CONTROL_ENABLED | CONTROL_LAUNCH_RECORDS, options=0, stack_share=ALL_STACKS,
                 nvtx_range=""):
        self.settings = {"control": control, "options": options, "stack_share": stack_share, "nvtx_range": nvtx_range}
        self.name = f"gpuprof-test-{os.getpid()}-{secrets.token_hex(4)}"
        self.token = secrets.token_hex(16)
        self.sources = []
        self.error = None
        self.silent = False  # look to the targets as if we had died a minute ago
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        self.socket.bind("\0" + self.name)
        self.socket.listen(16)
        self.socket.settimeout(0.01)
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def environment(self):
        return {"GPUPROF_SOCKET": self.name, "GPUPROF_TOKEN": self.token, "GPUPROF_UID": str(os.geteuid())}

    def _run(self):
        try:
            while not self.stopping.is_set():
                try:
                    connection, _ = self.socket.accept()
                except TimeoutError:
                    connection = None
                if connection is not None:
                    self._welcome(connection)
                for source in self.sources:
                    source.beat(60 if self.silent else 0)
                    source.drain()
        except Exception as error:  # told to the test by close(): an exception in a thread is lost
            self.error = error

    def _welcome(self, connection):
        with connection:
            magic, version, token, backend, _, python = HELLO.unpack(connection.recv(HELLO.size))
            assert (magic, version, token.decode()) == (MAGIC, VERSION, self.token), "a strange hello"
            pid, = struct.unpack_from("<i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            source = Source(len(self.sources) + 1, backend.split(b"\0")[0].decode(), pid, self.settings)
            source.take_python(python)
            self.sources.append(source)
            welcome = WELCOME.pack(MAGIC, VERSION, source.id, SEGMENT_BYTES)
            socket.send_fds(connection, [welcome], [source.fd])

    def close(self):
        self.stopping.set()
        self.thread.join()
        self.socket.close()
        if self.error is not None:
            raise self.error
        for source in self.sources:
            source.drain()


def main():
    command = sys.argv[2:] if sys.argv[1:2] == ["--"] else sys.argv[1:]
    recorder = Recorder()
    status = subprocess.run(command, env={**os.environ, **recorder.environment()}, check=False).returncode
    recorder.close()
    for source in recorder.sources:
        print(json.dumps({"source": source.id, "backend": source.backend, "pid": source.pid, "state": source.state,
                          "reason": source.reason, "launches": source.launches, "lost": source.lost,
                          "counts": source.counts,
                          "meta": source.meta, "devices": source.devices}))
        for name_id, name in source.names.items():
            print(json.dumps({"source": source.id, "name_id": name_id, "name": name}))
        for op in source.gpu_ops:
            print(json.dumps({"source": source.id, **op, "op": OPS[op["op"]]}))
        for op in source.host_ops:
            print(json.dumps({"source": source.id, **op, "op": HOST_OPS[op["op"]]}))
        for node in source.graph_nodes:
            print(json.dumps({"source": source.id, **node}))
        for range_id, span in source.ranges.items():
            print(json.dumps({"source": source.id, "range": range_id, **span}))
        for launch in source.launch_records:
            print(json.dumps({"source": source.id,
                              **dict(zip(["launch", "tid", "thread", "time", "range"], launch))}))
    return status


if __name__ == "__main__":
    sys.exit(main())
