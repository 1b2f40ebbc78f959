"""Returns whether a frame is the first one of a program or thread, according to the code in its file.

libc's symbols for these functions are mostly stripped. A stack that was cut inside libc (in qsort, say) must not pass for
one that begins there.
"""

import functools
import re
import struct

START_BYTES = 64  # _start has fewer bytes; with a larger value, other code could be mistaken for _start
LOAD = 1

# The code after the call of a thread's function in clone and clone3: exit (system call 60) with its return value.
AFTER_THREAD = re.compile(rb"\x48?\x89\xc7\xb8\x3c\x00\x00\x00\x0f\x05")
# A frame's address can be this many bytes before that code, because it may be inside the call instruction.
MOST_BEFORE = 2


@functools.lru_cache(maxsize=None)
def program_headers(path):
    """Returns (entry address, [(type, offset, address, bytes in the file)]) of a 64-bit ELF file, or None."""
    try:
        with open(path, "rb") as file:
            header = file.read(64)
            if len(header) < 64 or header[:5] != b"\x7fELF\x02":
                return None
            entry, table = struct.unpack_from("<QQ", header, 24)
            size, count = struct.unpack_from("<HH", header, 54)
            file.seek(table)
            rows = [file.read(size) for _ in range(count)]
    except OSError:
        return None
    rows = [struct.unpack_from("<IIQQQQ", row) for row in rows if len(row) >= 40]
    return entry, [(kind, offset, address, in_file) for kind, _, offset, address, _, in_file in rows]


@functools.lru_cache(maxsize=None)
def code_at(path, address, count):
    """Returns the file's bytes at an address, or b"" if the file has none there."""
    _, rows = program_headers(path) or (0, [])
    for kind, offset, begin, size in rows:
        if kind == LOAD and begin <= address < begin + size:
            with open(path, "rb") as file:
                file.seek(offset + address - begin)
                return file.read(min(count, begin + size - address))
    return b""


def begins_program(path, address):
    """Returns whether the frame is _start, of a program or of the loader."""
    headers = program_headers(path)
    return headers is not None and headers[0] <= address < headers[0] + START_BYTES


def begins_thread(path, address):
    """Returns whether the frame is in clone or clone3, which called the thread's first function (x86-64)."""
    found = AFTER_THREAD.search(code_at(path, address, 16))
    return found is not None and found.start() <= MOST_BEFORE
