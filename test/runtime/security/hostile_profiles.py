"""Profiles that an attacker might write: a few megabytes that make their reader need far more."""

HEADER = "GPUPROF;3.0\n"
END = "END;1;0;0;0;0;0;0\n"
DEEP = 65536  # the maximum number of frames of a stack
MEGABYTE = 1 << 20


def long_name(character, megabytes=1):
    return character * int(megabytes * MEGABYTE)


def work(number, process=0, ustack=0, capture=0, ranges=0, device=0, op="kernel", name=0, flags=0, tid=0, stream=0):
    return f"WORK;{number};{process};{tid};0;{ustack};0;{capture};{ranges};{device};{stream};{op};{name};{flags}\n"


def gpu(number, ns=1000):
    return f"GPU;0;{number};1;{ns};{ns};{ns};0;0;0\n"


def deep_stack(number, names=1, tail=""):
    return f"USTACK;{number};" + ";".join(str(1 + i % names) for i in range(DEEP)) + tail + "\n"


def stacks_times_parents(parents=10000):
    """`parents` processes share one stack of 65536 frames: their call paths have parents * 65536 frames in sum."""
    parts = [HEADER, "STRING;1;f\nFRAME;1;native;1;0;0;0;0;0x0\n", deep_stack(1)]
    for i in range(1, parents + 1):
        parts.append(f"STRING;{i + 1};p{i}\nPROCESS;{i};{i};1;1;{i + 1};0;0;0\n")
        parts.append(work(i, process=i, ustack=1) + gpu(i))
    return "".join(parts)


def long_names(stacks=10, megabytes=1):
    """Deep stacks of names of megabytes: one line of folded text has hundreds of gigabytes."""
    parts = [HEADER]
    for i in range(1, 3):
        parts.append(f"STRING;{i};{long_name('ab'[i - 1], megabytes)}\nFRAME;{i};native;{i};0;0;0;0;0x0\n")
    for i in range(1, stacks + 1):
        tail = "".join(f";{1 + (i >> bit & 1)}" for bit in range(16))
        parts.append(f"USTACK;{i};" + ";".join(["1", "2"] * 30000) + tail + "\n" + work(i, ustack=i) + gpu(i))
    return "".join(parts)


def python_lines(frames=20000, megabytes=0.5):
    """Python frames with one long name and different lines: each label contains the name."""
    parts = [HEADER, f"STRING;1;{long_name('n', megabytes)}\nSTRING;2;a.py\n"]
    for i in range(1, frames + 1):
        parts.append(f"FRAME;{i};python;1;2;{i};0;0;0x0\n")
    parts.append("USTACK;1;" + ";".join(map(str, range(1, frames + 1))) + "\n" + work(1, ustack=1) + gpu(1))
    return "".join(parts)


def same_name_frames(frames=20000, megabytes=1):
    """Frames with one long name that differ only in their address, and WORKs with one long name."""
    parts = [HEADER, f"STRING;1;{long_name('n', megabytes)}\n"]
    for i in range(1, frames + 1):
        parts.append(f"FRAME;{i};native;1;0;0;0;0;{i}\n")
    for i in range(1, frames + 1):
        parts.append(f"USTACK;{i};{i}\n" + work(i, ustack=i, name=1) + gpu(i))
    return "".join(parts)


def range_chains(works=10000):
    """1024 nested ranges, with work of many processes in the innermost."""
    parts = [HEADER, "STRING;1;r\n", "RANGE;1;0;0;1\n"]
    parts += [f"RANGE;{i};{i - 1};0;1\n" for i in range(2, 1025)]
    for i in range(1, works + 1):
        parts.append(f"STRING;{i + 1};p{i}\nPROCESS;{i};{i};1;1;{i + 1};0;0;0\n")
        parts.append(work(i, process=i, ranges=1024) + gpu(i))
    return "".join(parts)


def range_bush(leaves=20000):
    """Many ranges inside the same 1000 ranges, each with its own work."""
    parts = [HEADER, "STRING;1;r\n", "RANGE;1;0;0;1\n"]
    parts += [f"RANGE;{i};{i - 1};0;1\n" for i in range(2, 1001)]
    for i in range(1, leaves + 1):
        parts.append(f"STRING;{i + 1};r{i}\nRANGE;{1000 + i};1000;0;{i + 1}\n" + work(i, ranges=1000 + i) + gpu(i))
    return "".join(parts)


def captures(launches=80, nodes=80):
    """Combines each of many launch stacks with each of many capture stacks."""
    parts = [HEADER, "STRING;1;f\nSTRING;2;g\nFRAME;1;native;1;0;0;0;0;0x0\nFRAME;2;native;2;0;0;0;0;0x0\n"]
    for i in range(1, launches + nodes + 1):
        parts.append(f"USTACK;{i};" + "".join(f"{1 + (i >> bit & 1)};" for bit in range(12)) + "1;2;" * 8000 + "1\n")
    number = 0
    for i in range(1, launches + 1):
        for j in range(launches + 1, launches + nodes + 1):
            number += 1
            parts.append(work(number, ustack=i, capture=j, flags=1) + gpu(number))
    return "".join(parts)


def spread(unsampled=2000, donors=1000):
    """Work without stacks, each extrapolated to a thousand stacks."""
    parts = [HEADER, "STRING;1;k\nSTRING;2;f\n"]
    for i in range(1, donors + 1):
        parts.append(f"STRING;{i + 2};f{i}\nFRAME;{i};native;{i + 2};0;0;0;0;0x0\nUSTACK;{i};{i}\n")
        parts.append(work(i, ustack=i, name=1) + gpu(i))
    base = donors + 2
    for i in range(1, unsampled + 1):
        number = donors + i
        parts.append(f"STRING;{base + i};p{i}\nRANGE;{i};0;0;{base + i}\n")
        parts.append(work(number, ranges=i, name=1, flags=2) + gpu(number, 10**6))
    return "".join(parts)


def remarks(lines=300000):
    """META lines, which are stored one by one."""
    return HEADER + "".join(f"META;k{i};v\n" for i in range(lines)) + work(1) + gpu(1)


def too_many_remarks():
    return remarks(1_000_001)


def texts(count=300_000):
    """Stacks in the "published form" of FORMAT.md, with many distinct texts of at most five bytes."""
    parts, number = [], 0
    for first in range(0, count, 60000):
        number += 1
        parts.append(f"USTACK;{number};" + ";".join(f"{i:x}" for i in range(first, min(first + 60000, count))) + "\n")
        parts.append(f"EUSTALL;0;1;{number};0;0;0;0;1;0x0;1\n")
    return "".join(parts)


def places(works=20000, megabytes=1):
    """One code location with 1024 inlined frames below each of many kernels, and many locations of one long instruction."""
    parts = [HEADER, f"STRING;1;{long_name('n', megabytes)}\nSTRING;2;a.cu\n"]
    parts += [f"FRAME;{i};gpu;1;2;{i};0;0;0x0\n" for i in range(1, 1025)]
    parts.append("GPU_PLACE;1;0;1;0x0;1;" + ";".join(map(str, range(1, 1025))) + "\n")
    for i in range(1, works + 1):
        parts.append(f"STRING;{i + 2};k{i}\n" + work(i, name=i + 2) + f"EUSTALL;0;{i};1;1;0;1;0\n")
        parts.append(f"GPU_PLACE;{i + 1};0;1;{i};1\nEUSTALL;0;{i};{i + 1};1;0;1;1\n")
    return "".join(parts)


def histograms(works=20000):
    """Histograms with all their buckets."""
    buckets = ";".join(f"{bucket};1" for bucket in range(496))
    values = (1 << 64) - 1
    parts = [HEADER]
    for i in range(1, works // 40 + 1):
        parts.append(f"STRING;{i};k{i}\n" + work(i, name=i) + gpu(i))
        parts.append(f"LATENCY;{i};call_to_start;496;{values};0;{values};{buckets}\n")
    return "".join(parts)


def huge_numbers():
    """Sums at the limit of 64 bits: each fits, but sums derived from them do not."""
    most = (1 << 64) - 1
    half = most // 2
    parts = [HEADER, "DEVICE;1;0;0;0;0\n"]
    for i in (1, 2):
        parts.append(work(i, device=1, stream=i) + f"GPU;0;{i};1;{half};{half};{half};0;{most};{half}\n")
        parts.append(f"SHARE;0;{i};{half // 2};{half // 2}\nIDLE;0;1;{i};{half // 2}\n")
    parts.append(f"LOSS;0;ring_full;{half}\nLOSS;0;vendor_dropped;{half}\nCOVERAGE;0;launches;{most}\n")
    parts.append(f"COVERAGE;0;stack_whole;{most}\nCOVERAGE;0;stack_truncated;{most}\n")
    parts.append(f"EVENT;1;1;{half};{most};1;1;{most}\nCALL;0;1;0;0;1;0;{most}\n")
    return "".join(parts)


def timeline(stacks=15000):
    """A long text for each event of a trace."""
    parts = [HEADER, f"STRING;1;{long_name('n', 0.1)}\nFRAME;1;native;1;0;0;0;0;0x0\nDEVICE;1;0;0;1;0\n"]
    for i in range(1, stacks + 1):
        parts.append(f"USTACK;{i};1;1\nCALL;0;1;{i};1;{i};{i};{i + 1}\n")
    return "".join(parts)


def devices(count=2000):
    """A counter track for each of many devices."""
    parts = [HEADER]
    for i in range(1, count + 1):
        parts.append(f"DEVICE;{i};0;{i};0;0\n" + work(i, device=i) + gpu(i) + f"EVENT;{i};0;1;2;0;0;0\n")
    return "".join(parts)


def launches_from(files):
    """One launch from the first line of each source file."""
    parts = [HEADER, "META;start_unix_ns;4102444800000000000\nSTRING;1;f\n"]
    for i, path in enumerate(files, 2):
        parts.append(f"STRING;{i};{path}\nFRAME;{i};native;1;{i};1;0;0;0x0\nUSTACK;{i};{i}\n" + work(i, ustack=i) + gpu(i))
    return "".join(parts)


def packed(recording, megabytes=140):
    """A zstd file of a few kilobytes with long META lines. It has a window of 128 MiB, which the META lines fill."""
    block = 128 << 10

    def put(kind, size, content):
        return ((size << 3) | (kind << 1)).to_bytes(3, "little") + content

    def plain(text):
        return put(0, len(text), text.encode())

    lines = plain("META;k;") + put(1, block, b"v") + plain("\n")  # kind 1: one byte that is repeated
    head = f"{HEADER}META;recording;{recording:032x}\nMETA;start_unix_ns;{10**18 + recording}\n"
    last = ((len(END) << 3) | 1).to_bytes(3, "little") + END.encode()
    return b"\x28\xb5\x2f\xfd\x00\x88" + plain(head) + lines * (megabytes * MEGABYTE // block) + last


# Each command reads these profiles. too_many_remarks() is tested separately, because all commands reject it alike.
ALL = {maker.__name__: maker for maker in (
    stacks_times_parents, long_names, python_lines, same_name_frames, range_chains, range_bush, captures, spread, remarks,
    texts, places, histograms, huge_numbers, timeline, devices)}
