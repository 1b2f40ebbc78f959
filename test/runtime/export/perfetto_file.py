#!/usr/bin/env python3
"""Reads a Perfetto trace according to its .proto files (protos/perfetto/trace), independently of gpuprof.

    perfetto_file.py < FILE    prints the trace as text, for golden files
"""

import collections
import functools
import struct
import sys
import zlib

# Maps a message to {field number: (name, type)}. "repeated" fields are lists. An unknown field is an error.
SCHEMA = {
    "Trace": {1: ("packet", "repeated TracePacket")},
    "TracePacket": {6: ("clock_snapshot", "ClockSnapshot"), 8: ("timestamp", "uint64"),
                    10: ("trusted_packet_sequence_id", "uint32"), 11: ("track_event", "TrackEvent"),
                    12: ("interned_data", "InternedData"), 13: ("sequence_flags", "uint32"),
                    50: ("compressed_packets", "bytes"), 58: ("timestamp_clock_id", "uint32"),
                    59: ("trace_packet_defaults", "TracePacketDefaults"), 60: ("track_descriptor", "TrackDescriptor")},
    "TracePacketDefaults": {58: ("timestamp_clock_id", "uint32")},
    "ClockSnapshot": {1: ("clocks", "repeated Clock"), 2: ("primary_trace_clock", "enum")},
    "Clock": {1: ("clock_id", "uint32"), 2: ("timestamp", "uint64")},
    "TrackDescriptor": {1: ("uuid", "uint64"), 2: ("name", "string"), 3: ("process", "ProcessDescriptor"),
                        4: ("thread", "ThreadDescriptor"), 5: ("parent_uuid", "uint64"),
                        8: ("counter", "CounterDescriptor")},
    "ProcessDescriptor": {1: ("pid", "int32"), 2: ("cmdline", "repeated string"), 6: ("process_name", "string")},
    "ThreadDescriptor": {1: ("pid", "int32"), 2: ("tid", "int32"), 5: ("thread_name", "string")},
    "CounterDescriptor": {3: ("unit", "enum")},
    "TrackEvent": {3: ("category_iids", "repeated uint64"), 4: ("debug_annotations", "repeated DebugAnnotation"),
                   9: ("type", "enum"), 10: ("name_iid", "uint64"), 11: ("track_uuid", "uint64"),
                   30: ("counter_value", "int64"), 47: ("flow_ids", "repeated fixed64"), 56: ("callstack_iid", "uint64"),
                   57: ("callstack_weight", "double")},
    "DebugAnnotation": {1: ("name_iid", "uint64"), 3: ("uint_value", "uint64"), 6: ("string_value", "string")},
    "InternedData": {1: ("event_categories", "repeated Named"), 2: ("event_names", "repeated Named"),
                     3: ("debug_annotation_names", "repeated Named"), 5: ("function_names", "repeated InternedString"),
                     6: ("frames", "repeated Frame"), 7: ("callstacks", "repeated Callstack"),
                     16: ("build_ids", "repeated InternedString"), 17: ("mapping_paths", "repeated InternedString"),
                     18: ("source_paths", "repeated InternedString"), 19: ("mappings", "repeated Mapping")},
    # "Named" stands for EventCategory, EventName and DebugAnnotationName, which have the same fields.
    "Named": {1: ("iid", "uint64"), 2: ("name", "string")},
    "InternedString": {1: ("iid", "uint64"), 2: ("str", "bytes")},
    "Mapping": {1: ("iid", "uint64"), 2: ("build_id", "uint64"), 7: ("path_string_ids", "repeated uint64")},
    "Frame": {1: ("iid", "uint64"), 2: ("function_name_id", "uint64"), 3: ("mapping_id", "uint64"),
              4: ("rel_pc", "uint64"), 5: ("source_path_iid", "uint64"), 6: ("line_number", "uint32")},
    "Callstack": {1: ("iid", "uint64"), 2: ("frame_ids", "repeated uint64")},
}
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4  # constants of TrackEvent.Type
CLEARED, NEEDED = 1, 2  # constants of TracePacket.SequenceFlags
REALTIME, MONOTONIC = 1, 3  # constants of BuiltinClock


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def wire_type(kind):
    return 0 if kind in ("uint64", "int64", "uint32", "int32", "enum") else 1 if kind in ("fixed64", "double") else 2


# {message: {tag (field number and wire type): (name, whether it is repeated, type)}}
FIELDS = {message: {number << 3 | wire_type(kind.split()[-1]): (name, kind.startswith("repeated "), kind.split()[-1])
                    for number, (name, kind) in fields.items()} for message, fields in SCHEMA.items()}
SHORT = 48  # longest message, in bytes, that decode() caches


def decode(message, data):
    """Returns the fields as a dictionary. Callers must not change it, as equal short messages share one dictionary."""
    fields = FIELDS[message]
    result = {}
    at = 0
    while at < len(data):
        tag, at = (data[at], at + 1) if data[at] < 0x80 else varint(data, at)
        name, repeated, kind = fields[tag]
        wire = tag & 7
        if wire == 1:
            value, at = struct.unpack_from("<Q" if kind == "fixed64" else "<d", data, at)[0], at + 8
        else:
            value, at = (data[at], at + 1) if data[at] < 0x80 else varint(data, at)
        if wire == 2:
            size = value
            value, at = data[at:at + size], at + size
            assert len(value) == size, f"{name} is cut"
            if kind == "string":
                value = value.decode("utf-8")
            elif kind != "bytes":
                value = decode_short(kind, value) if size <= SHORT else decode(kind, value)
        if repeated:
            result.setdefault(name, []).append(value)
        else:
            result[name] = value
    return result


decode_short = functools.lru_cache(maxsize=1 << 16)(decode)


Slice = collections.namedtuple("Slice", "track start end category name stack flows facts weight")
Frame = collections.namedtuple("Frame", "name file line module build_id address")


class Trace:
    """Builds slices as a viewer does: packets in time order, and in file order if the times are equal."""

    def __init__(self, data):
        self.tables = collections.defaultdict(dict)
        self.tracks, self.slices, self.counters, self.clocks = {}, [], collections.defaultdict(list), {}
        self.events = []
        self.instants = []  # (path of the track, name)
        self.stacks = {}
        self.lots = 0
        self.default_clock = self.primary_clock = None
        for packet in decode("Trace", data)["packet"]:
            if "compressed_packets" in packet:
                assert set(packet) == {"compressed_packets"}
                unpacked = zlib.decompress(packet["compressed_packets"])
                self.lots += 1
                for inner in decode("Trace", unpacked)["packet"]:
                    self.take(inner)
            else:
                self.take(packet)
        self.make_slices()

    def take(self, packet):
        assert packet["trusted_packet_sequence_id"] == 1
        first = self.default_clock is None
        assert packet["sequence_flags"] == (CLEARED if first else NEEDED)
        if "trace_packet_defaults" in packet:
            self.default_clock = packet["trace_packet_defaults"]["timestamp_clock_id"]
        if "clock_snapshot" in packet:
            self.clocks = {clock["clock_id"]: clock["timestamp"] for clock in packet["clock_snapshot"]["clocks"]}
            self.primary_clock = packet["clock_snapshot"]["primary_trace_clock"]
        for table, rows in packet.get("interned_data", {}).items():
            for row in rows:
                assert row["iid"] > 0 and row["iid"] not in self.tables[table], f"{table} {row['iid']} twice"
                self.tables[table][row["iid"]] = row
        if "track_descriptor" in packet:
            track = packet["track_descriptor"]
            assert track["uuid"] > 0
            assert track.get("parent_uuid", 0) == 0 or track["parent_uuid"] in self.tracks, "a track without its parent"
            self.tracks[track["uuid"]] = track
        if "track_event" in packet:
            event = packet["track_event"]
            assert event["track_uuid"] in self.tracks, "an event of a track that was not described before"
            self.events.append((packet["timestamp"], self.resolved(event)))

    def resolved(self, event):
        """Returns the event with values in place of interned ids. An id must have been defined earlier in the trace."""
        event = dict(event)
        if "name_iid" in event:
            event["name"] = self.tables["event_names"][event["name_iid"]]["name"]
        event["categories"] = [self.tables["event_categories"][iid]["name"] for iid in event.get("category_iids", [])]
        event["facts"] = {}
        for fact in event.get("debug_annotations", []):
            name = self.tables["debug_annotation_names"][fact["name_iid"]]["name"]
            event["facts"][name] = fact.get("uint_value", fact.get("string_value"))
        event["stack"] = self.stack(event["callstack_iid"]) if "callstack_iid" in event else ()
        return event

    def stack(self, iid):
        if iid not in self.stacks:
            frames = self.tables["callstacks"][iid].get("frame_ids", [])
            self.stacks[iid] = tuple(self.frame(frame) for frame in frames)
        return self.stacks[iid]

    def frame(self, iid):
        row = self.tables["frames"][iid]
        text = {name: self.tables[table][row[field]]["str"].decode("utf-8") if field in row else ""
                for name, table, field in (("name", "function_names", "function_name_id"),
                                           ("file", "source_paths", "source_path_iid"))}
        module = build_id = ""
        if "mapping_id" in row:
            assert "rel_pc" in row
            mapping = self.tables["mappings"][row["mapping_id"]]
            module = "/".join(self.tables["mapping_paths"][path]["str"].decode("utf-8")
                              for path in mapping["path_string_ids"])
            if "build_id" in mapping:
                build_id = self.tables["build_ids"][mapping["build_id"]]["str"].hex()
        return Frame(text["name"], text["file"], row.get("line_number", 0), module, build_id, row.get("rel_pc", 0))

    def make_slices(self):
        open_slices = collections.defaultdict(list)
        for time, event in sorted(self.events, key=lambda item: item[0]):  # stable: equal times stay in file order
            track = event["track_uuid"]
            if event["type"] == BEGIN:
                open_slices[track].append((time, event))
            elif event["type"] == END:
                start, begun = open_slices[track].pop()
                self.slices.append(Slice(track, start, time, begun["categories"][0], begun["name"], begun["stack"],
                                         tuple(begun.get("flow_ids", ())), begun["facts"],
                                         begun.get("callstack_weight")))
            elif event["type"] == INSTANT:
                self.instants.append((self.name_of(track), event["name"]))
            else:
                assert event["type"] == COUNTER and "counter" in self.tracks[track]
                self.counters[track].append((time, event["counter_value"]))
        assert not any(open_slices.values()), "a slice has no end"

    def name_of(self, uuid):
        """Returns the path of a track: "python3, rank 3/main", "device 0/stream 7"."""
        track = self.tracks[uuid]
        own = track.get("name") or track.get("process", {}).get("process_name") or \
            track.get("thread", {}).get("thread_name") or f"thread {track.get('thread', {}).get('tid')}"
        return (self.name_of(track["parent_uuid"]) + "/" if track.get("parent_uuid") else "") + own


def show(trace):
    print("clocks", trace.clocks, "primary", trace.primary_clock, "of events", trace.default_clock)
    for uuid in sorted(trace.tracks):
        print("track", uuid, trace.name_of(uuid))
    for one in sorted(trace.slices, key=lambda s: (s.track, s.start, -s.end)):
        facts = " ".join(f"{key}={value}" for key, value in one.facts.items())
        print(one.track, one.start, one.end - one.start, one.category, one.name, facts, *map(hex, one.flows))
        if one.weight is not None:
            print("    weight", one.weight)
        for frame in one.stack:
            print("   ", " ".join(str(part) for part in frame if part))
    for track, name in trace.instants:
        print("instant", track, name)
    for track, samples in trace.counters.items():
        print("counter", trace.name_of(track), samples)


if __name__ == "__main__":
    show(Trace(sys.stdin.buffer.read()))
