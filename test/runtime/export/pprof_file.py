#!/usr/bin/env python3
"""Reads a pprof file according to its profile.proto, independently of gpuprof.

    pprof_file.py < FILE    prints the profile as text, for golden files
"""

import gzip
import sys

# Maps a message to {field number: (name, type)}. "repeated" fields are lists. A capitalized type is a message.
SCHEMA = {
    "Profile": {1: ("sample_type", "repeated ValueType"), 2: ("sample", "repeated Sample"),
                3: ("mapping", "repeated Mapping"), 4: ("location", "repeated Location"),
                5: ("function", "repeated Function"), 6: ("string_table", "repeated string"),
                7: ("drop_frames", "int64"), 8: ("keep_frames", "int64"), 9: ("time_nanos", "int64"),
                10: ("duration_nanos", "int64"), 11: ("period_type", "ValueType"), 12: ("period", "int64"),
                13: ("comment", "repeated int64"), 14: ("default_sample_type", "int64")},
    "ValueType": {1: ("type", "int64"), 2: ("unit", "int64")},
    "Sample": {1: ("location_id", "repeated uint64"), 2: ("value", "repeated int64"), 3: ("label", "repeated Label")},
    "Label": {1: ("key", "int64"), 2: ("str", "int64"), 3: ("num", "int64"), 4: ("num_unit", "int64")},
    "Mapping": {1: ("id", "uint64"), 2: ("memory_start", "uint64"), 3: ("memory_limit", "uint64"),
                4: ("file_offset", "uint64"), 5: ("filename", "int64"), 6: ("build_id", "int64"),
                7: ("has_functions", "bool"), 8: ("has_filenames", "bool"), 9: ("has_line_numbers", "bool"),
                10: ("has_inline_frames", "bool")},
    "Location": {1: ("id", "uint64"), 2: ("mapping_id", "uint64"), 3: ("address", "uint64"),
                 4: ("line", "repeated Line"), 5: ("is_folded", "bool")},
    "Line": {1: ("function_id", "uint64"), 2: ("line", "int64")},
    "Function": {1: ("id", "uint64"), 2: ("name", "int64"), 3: ("system_name", "int64"), 4: ("filename", "int64"),
                 5: ("start_line", "int64")},
}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def decode(message, data):
    """Returns {name: value}. A field that is not in the schema is an error."""
    schema = SCHEMA[message]
    result = {name: [] if kind.startswith("repeated") else 0 for name, kind in schema.values()}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        name, kind = schema[number]
        repeated, kind = kind.startswith("repeated "), kind.replace("repeated ", "")
        if wire == 0:
            value, at = varint(data, at)
            assert kind in ("int64", "uint64", "bool"), f"{name} is a number"
            values = [value]
        else:
            assert wire == 2, f"wire type {wire}"
            size, at = varint(data, at)
            part = data[at:at + size]
            assert len(part) == size, f"{name} is cut"
            at += size
            if kind == "string":
                values = [part.decode("utf-8")]  # strict: invalid UTF-8 is an error
            elif kind in SCHEMA:
                values = [decode(kind, part)]
            else:
                values, inner = [], 0
                while inner < size:
                    value, inner = varint(part, inner)
                    values.append(value)
        for value in values:
            if repeated:
                result[name].append(value)
            else:
                result[name] = value
    return result


class Pprof:
    def __init__(self, data):
        self.raw = decode("Profile", gzip.decompress(data))
        self.text = self.raw["string_table"]
        assert self.text[0] == "", "the string 0 is not empty"
        self.types = [(self.text[t["type"]], self.text[t["unit"]]) for t in self.raw["sample_type"]]
        self.default_type = self.text[self.raw["default_sample_type"]]
        self.comments = [self.text[comment] for comment in self.raw["comment"]]
        self.functions = self.by_id("function")
        self.mappings = self.by_id("mapping")
        self.locations = self.by_id("location")

    def by_id(self, table):
        rows = {row["id"]: row for row in self.raw[table]}
        assert len(rows) == len(self.raw[table]) and 0 not in rows, f"ids of {table} are not distinct"
        return rows

    def samples(self):
        """Yields (frames, values, labels): frames outermost first as (name, file, line), labels as {key: text}."""
        for sample in self.raw["sample"]:
            assert len(sample["value"]) == len(self.types)
            frames = []
            for location in reversed(sample["location_id"]):
                for line in reversed(self.locations[location]["line"]):
                    function = self.functions[line["function_id"]]
                    frames.append((self.text[function["name"]], self.text[function["filename"]], line["line"]))
            labels = {self.text[label["key"]]: self.text[label["str"]] for label in sample["label"]}
            assert len(labels) == len(sample["label"]), "a label twice"
            yield frames, sample["value"], labels

    def totals(self):
        """Returns {type: sum}."""
        sums = [0] * len(self.types)
        for _, values, _ in self.samples():
            sums = [a + b for a, b in zip(sums, values)]
        return {name: total for (name, _), total in zip(self.types, sums)}

    def modules(self):
        """Yields (address, file, build id) of each location that has a mapping."""
        for location in self.locations.values():
            if location["mapping_id"]:
                mapping = self.mappings[location["mapping_id"]]
                assert location["address"] < mapping["memory_limit"]
                yield location["address"], self.text[mapping["filename"]], self.text[mapping["build_id"]]


def show(profile):
    print("types", ", ".join(f"{name} ({unit})" for name, unit in profile.types), "default", profile.default_type)
    for comment in profile.comments:
        print("comment", comment)
    print("time", profile.raw["time_nanos"], "duration", profile.raw["duration_nanos"])
    for mapping in profile.raw["mapping"]:
        known = [name for name in ("functions", "filenames", "line_numbers", "inline_frames") if mapping["has_" + name]]
        print("mapping", profile.text[mapping["filename"]], profile.text[mapping["build_id"]],
              hex(mapping["memory_limit"]), *known)
    for address, file, _ in sorted(set(profile.modules())):
        print("address", hex(address), "in", file)
    for frames, values, labels in profile.samples():
        print(*values, " ".join(f"{key}={value}" for key, value in sorted(labels.items())))
        for name, file, line in frames:
            print("   ", name, f"({file}:{line})" if file else "")


if __name__ == "__main__":
    show(Pprof(sys.stdin.buffer.read()))
