"""A recorder for tests of injection libraries: speaks src/wire/wire.h, and stores what it receives as plain values.

As a program it records a command and prints one JSON object per record:  wire_recorder.py -- command...
"""

import fcntl
import inspect
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

import wire_layout as wire  # generated from wire.h by the build
from wire_layout import (CODE, MODULE, RING_BYTES, RING_COUNT, SEGMENT, SEGMENT_BYTES,  # noqa: F401, for the tests
                         STACK, CONTROL_CALLS, CONTROL_ENABLED, CONTROL_FLUSH, CONTROL_LAUNCH_RECORDS,
                         CONTROL_RETRACT, OPTION_ATTACHED, OPTION_LATENCY, OPTION_SAMPLES, OPTION_STACKS,
                         OPTION_WHOLE_GRAPHS)

NO_DEVICE = 0xFFFFFFFF
WIRE_LAYOUT = inspect.getsource(wire)  # prepended to programs that can read no file of the tests
F_ADD_SEALS, F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW = 1033, 1, 2, 4  # constants of linux/fcntl.h


def text_of(field):
    return field.split(b"\0")[0].decode()


def hello(token, backend):
    return wire.HELLO.make(magic=wire.WIRE_MAGIC, version=wire.WIRE_VERSION, token=token, backend=backend)


def welcome(source_id, segment_bytes=SEGMENT_BYTES):
    return wire.WELCOME.make(magic=wire.WIRE_MAGIC, version=wire.WIRE_VERSION, source_id=source_id,
                             segment_bytes=segment_bytes, clock_offset_ns=0)


class Source:
    """One segment: the data of one process from one injection library."""

    def __init__(self, source_id, backend, pid, settings):
        self.id, self.backend, self.pid = source_id, backend, pid
        self.fd = os.memfd_create("wire-recorder", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, SEGMENT_BYTES)
        fcntl.fcntl(self.fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)
        self.memory = mmap.mmap(self.fd, SEGMENT_BYTES)
        options = wire.SEGMENT_OPTIONS.make(flags=settings["options"],
                                            sampling_period=settings["sampling_period"], nvtx_range=settings["nvtx_range"].encode())
        for name, value in {"magic": wire.WIRE_MAGIC, "version": wire.WIRE_VERSION, "source_id": source_id,
                            "control": settings["control"],
                            "options": options}.items():
            SEGMENT.put(self.memory, name, value)
        self.names, self.devices, self.uuids, self.meta, self.ranges = {}, {}, {}, {}, {}
        self.gpu_ops, self.launch_records, self.host_ops = [], [], []
        self.graph_nodes, self.graph_launches = [], []
        self.calls, self.spans = [], []
        # These have the SAMPLES records with their reasons, and the SAMPLE_WINDOW records, by window number.
        self.samples, self.windows = {}, {}
        self.modules_of_code = {}  # the source's id of a cubin or zebin -> its bytes
        self.gpu_kernels = []  # loads and unloads of kernels, with their addresses
        self.stacks = {}  # correlation ids with the HOST or NODE bit -> (tid, thread)
        self.stack_words = {}  # stack id -> (words, flags)
        self.stack_of = {}  # correlation id -> stack id, if a stack was captured
        self.modules = {}  # module number -> (start, end, offset, path)
        self.mappings_changed = 0
        self.codes = {}  # code id -> {version, first_line, name, file, line_table}
        self.python = {}  # the code that runs Python: {version, flags, code_type, eval_begin, eval_end}
        self.beat()

    def beat(self, seconds_ago=0):
        SEGMENT.put(self.memory, "heartbeat_ns", max(time.monotonic_ns() - seconds_ago * 1000000000, 1))

    @property
    def control(self):
        return SEGMENT.get(self.memory, "control")

    @control.setter
    def control(self, value):
        SEGMENT.put(self.memory, "control", value)

    @property
    def state(self):
        return wire.STATES[SEGMENT.get(self.memory, "state")]

    @property
    def flushed(self):
        return SEGMENT.get(self.memory, "flushed") == 1

    @property
    def reason(self):
        return text_of(SEGMENT.get(self.memory, "reason"))

    def _of_rings(self, field):
        return [wire.RING.get(self.memory, field, wire.ring(number)) for number in range(RING_COUNT)]

    def _counted(self, field, names):
        sums = [sum(column) for column in zip(*self._of_rings(field))]
        return {name: sums[number] for number, name in names.items() if sums[number]}

    @property
    def launches(self):
        return sum(self._of_rings("launches"))

    @property
    def lost(self):
        return self._counted("lost", wire.LOSSES)

    @property
    def counts(self):
        return self._counted("counts", wire.COUNTS)

    @property
    def overhead_samples(self):
        return sum(self._of_rings("overhead_samples"))

    def drain(self):
        for number in range(RING_COUNT):
            ring = wire.ring(number)
            head, tail = (wire.RING.get(self.memory, end, ring) for end in ("head", "tail"))
            data = wire.SEGMENT_DATA_OFFSET + number * RING_BYTES
            while tail < head:
                at = data + tail % RING_BYTES
                kind, size = wire.RECORD.unpack_from(self.memory, at)
                if size < 8 or size % 8 or tail + size > head or tail % RING_BYTES + size > RING_BYTES:
                    raise AssertionError(f"record of kind {kind} and size {size} at {tail}, head {head}")
                if kind != wire.RECORD_PAD:
                    assert kind in self.TAKES, f"unknown record kind {kind}"
                    self.TAKES[kind](self, self.memory[at:at + size])
                tail += size
            wire.RING.put(self.memory, "tail", tail, ring)

    def _take_name(self, record):
        name_id, length = wire.NAME.unpack_from(record)
        assert name_id != 0 and name_id not in self.names, f"name id {name_id} given twice"
        self.names[name_id] = record[wire.NAME.size:wire.NAME.size + length].decode()

    def _take_device(self, record):
        device, name_id, uuid_id = wire.DEVICE.unpack_from(record)
        self.devices[device], self.uuids[device] = name_id, uuid_id

    def _take_gpu_op(self, record):
        self.gpu_ops.append(wire.GPU_OP.read(record))

    def _take_launch(self, record):
        launch = wire.LAUNCH.read(record)
        correlation, tid, name = launch["correlation"], launch["tid"], text_of(launch["thread"])
        if launch["stack"] != 0:
            self.stack_of[correlation] = launch["stack"]
        if correlation & (wire.CORRELATION_HOST | wire.CORRELATION_NODE):
            self.stacks[correlation] = (tid, name)
        else:
            self.launch_records.append((correlation, tid, name, launch["time_ns"], launch["range"]))

    def _take_meta(self, record):
        length = wire.META.get(record, "length")
        key, _, value = record[wire.META.size:wire.META.size + length].decode().partition("=")
        self.meta[key] = value

    def _take_host_op(self, record):
        self.host_ops.append(wire.HOST_OP.read(record))

    def _take_graph_node(self, record):
        self.graph_nodes.append(wire.GRAPH_NODE.read(record))

    def _take_graph_launch(self, record):
        self.graph_launches.append(wire.GRAPH_LAUNCH.read(record))

    def _take_range(self, record):
        fields = wire.RANGE.read(record)
        range_id = fields.pop("id")
        assert range_id != 0 and range_id not in self.ranges, f"range id {range_id} given twice"
        self.ranges[range_id] = fields

    def _take_call(self, record):
        self.calls.append(wire.CALL.read(record))

    def _take_span(self, record):
        self.spans.append(wire.SPAN.read(record))

    def _take_samples(self, record):
        samples = wire.SAMPLES.read(record)
        assert samples["window"] not in self.windows, f"samples of window {samples['window']} after it was told"
        assert samples["count"] > 0, "samples without a reason"
        samples["reasons"] = {}
        for number in range(samples["count"]):
            reason = wire.SAMPLE_REASON.read(record, wire.SAMPLES.size + number * wire.SAMPLE_REASON.size)
            assert reason["reason_id"] not in samples["reasons"], "a reason twice"
            samples["reasons"][reason["reason_id"]] = reason["samples"]
        self.samples.setdefault(samples["window"], []).append(samples)

    def _take_gpu_kernel(self, record):
        self.gpu_kernels.append(wire.GPU_KERNEL.read(record))

    def _take_sample_window(self, record):
        window = wire.SAMPLE_WINDOW.read(record)
        assert window["window"] != 0 and window["window"] not in self.windows, f"window {window['window']} twice"
        assert window["start_ns"] < window["end_ns"], f"a window {window} without time"
        self.windows[window["window"]] = window

    def _take_stack(self, record):
        stack, count, flags, modules = STACK.unpack_from(record)
        assert stack != 0 and count != 0, "a stack without id or words"
        for module in struct.unpack_from(f"<{modules}Q", record, STACK.size + 8 * count):
            assert module in self.modules, f"a stack in a module {module} that is not known"
        words = list(struct.unpack_from(f"<{count}Q", record, STACK.size))
        assert self.stack_words.setdefault(stack, (words, flags)) == (words, flags), "one id for two stacks"

    def _take_module(self, record):
        start, end, offset, module, length, _ = MODULE.unpack_from(record)
        path = record[MODULE.size:MODULE.size + length].decode()
        known = self.modules.setdefault(module, (start, end, offset, path))
        assert known == (start, end, offset, path), f"module number {module} given twice"

    def _take_mappings(self, _):
        self.mappings_changed += 1

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

    def _take_python(self, record):
        self.take_python(wire.PYTHON.get(record, "layout"))

    def take_python(self, layout):
        fields = wire.PYTHON_LAYOUT.read(layout)
        if fields["version"] != 0:
            self.python = fields

    TAKES = {wire.RECORD_NAME: _take_name, wire.RECORD_DEVICE: _take_device, wire.RECORD_GPU_OP: _take_gpu_op,
             wire.RECORD_LAUNCH: _take_launch, wire.RECORD_META: _take_meta, wire.RECORD_HOST_OP: _take_host_op,
             wire.RECORD_GRAPH_NODE: _take_graph_node, wire.RECORD_RANGE: _take_range, wire.RECORD_CALL: _take_call,
             wire.RECORD_SPAN: _take_span, wire.RECORD_STACK: _take_stack, wire.RECORD_CODE: _take_code,
             wire.RECORD_PYTHON: _take_python, wire.RECORD_MODULE: _take_module,
             wire.RECORD_MAPPINGS: _take_mappings, wire.RECORD_GRAPH_LAUNCH: _take_graph_launch,
             wire.RECORD_SAMPLES: _take_samples, wire.RECORD_SAMPLE_WINDOW: _take_sample_window,
             wire.RECORD_GPU_KERNEL: _take_gpu_kernel}

    def totals(self):
        """Returns the sums in the form that the mock applications print: {name or operation: {count, ns, bytes}}."""
        result = {}
        for op in self.gpu_ops:
            kind = wire.OPS[op["op"]]
            name = self.names[op["name_id"]] if kind == "kernel" else kind
            entry = result.setdefault(name, {"count": 0, "ns": 0, "bytes": 0})
            entry["count"] += 1
            entry["ns"] += op["end_ns"] - op["start_ns"]
            entry["bytes"] += op["bytes"]
        return result


    def host_totals(self):
        """Returns the host operations except calls, in the form that the mock applications print, without times."""
        result = {}
        for op in (op for op in self.host_ops if wire.HOST_OPS[op["op"]] != "call"):
            entry = result.setdefault(wire.HOST_OPS[op["op"]], {"count": 0, "ns": 0, "bytes": 0})
            entry["count"] += op["count"]
            entry["bytes"] += op["bytes"]
        return result


class Recorder:
    """Listens for targets; `sources` grows as they connect. A thread reads their data, and close() reads the remainder."""

    def __init__(self, control=CONTROL_ENABLED | CONTROL_LAUNCH_RECORDS, options=0,
                 nvtx_range="", sampling_period=0, code_kind=wire.CODE_CUBIN):
        self.settings = {"sampling_period": sampling_period, "code_kind": code_kind,
                         "control": control, "options": options, "nvtx_range": nvtx_range}
        self.name = f"gpuprof-test-{os.getpid()}-{secrets.token_hex(4)}"
        self.token = secrets.token_hex(16)
        self.sources = []
        self.error = None
        self.refuses_code = False
        self.silent = False  # if set, targets see a recorder that died a minute ago
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
        except Exception as error:  # close() raises the error again: an exception in a thread is lost
            self.error = error

    def _welcome(self, connection):
        with connection:
            packet = connection.recv(max(wire.HELLO.size, wire.CODE_OFFER.size))
            if struct.unpack_from("<I", packet)[0] == wire.CODE_MAGIC:
                self._take_code(connection, wire.CODE_OFFER.read(packet))
                return
            said = wire.HELLO.read(packet)
            assert (said["magic"], said["version"], said["token"].decode()) == (
                wire.WIRE_MAGIC, wire.WIRE_VERSION, self.token), "a strange hello"
            pid, = struct.unpack_from("<i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            source = Source(len(self.sources) + 1, text_of(said["backend"]), pid, self.settings)
            source.take_python(said["python"])
            self.sources.append(source)
            socket.send_fds(connection, [welcome(source.id)], [source.fd])

    def _take_code(self, connection, offer):
        assert (offer["version"], offer["token"].decode(), offer["kind"]) == (
            wire.WIRE_VERSION, self.token, self.settings["code_kind"]), "a strange offer"
        kept = self.sources[offer["source_id"] - 1].modules_of_code
        assert offer["module"] != 0 and offer["module"] not in kept, f"module {offer['module']} offered twice"
        word = wire.CODE_REFUSED if self.refuses_code else wire.CODE_SEND
        connection.send(wire.CODE_ANSWER.make(magic=wire.CODE_MAGIC, word=word))
        if self.refuses_code:
            return
        _, descriptors, _, _ = socket.recv_fds(connection, wire.CODE_FILE.size, 1)
        with os.fdopen(descriptors[0], "rb") as file:
            file.seek(0)
            kept[offer["module"]] = file.read()
        assert len(kept[offer["module"]]) == offer["bytes"]

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
            print(json.dumps({"source": source.id, **op, "op": wire.OPS[op["op"]]}))
        for op in source.host_ops:
            print(json.dumps({"source": source.id, **op, "op": wire.HOST_OPS[op["op"]]}))
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
