"""Threads walk while code objects are created and freed around them, and while the interpreter ends.

    stress.py PROBE SECONDS

Prints the number of CODE records and of wrong walks.
"""

import ctypes
import sys
import threading
import time

PROBE = ctypes.CDLL(sys.argv[1])
PROBE.probe_text.restype = ctypes.c_char_p
PROBE.probe_records.restype = ctypes.c_uint64
END = time.monotonic() + float(sys.argv[2])
WRONG = []


def names_of_walk(name):
    PROBE.probe_walk(name.encode(), 0)
    lines = PROBE.probe_text(name.encode()).decode().splitlines()[:-1]
    return [(bytes.fromhex(line.split()[0]).decode().split(".")[-1], int(line.split()[2])) for line in lines]


def come_and_go(thread):
    number = 0
    while time.monotonic() < END or number < 20:
        number += 1
        lines = number % 5 + 1
        text = "\n" * lines + "def made_{0}():\n  repeat(3)\n  return walk('{0}')\nresult = made_{0}()".format(thread)
        scope = {"repeat": PROBE.probe_repeat, "walk": names_of_walk}
        exec(compile(text, "<made>", "exec"), scope)
        got = scope["result"][1:3]
        if got != [("made_{}".format(thread), lines + 3), ("<module>", lines + 4)]:
            WRONG.append(got)


def walk_to_the_end(depth):
    if depth > 0:
        return walk_to_the_end(depth - 1)
    return PROBE.probe_repeat(2000000000)


class Late:
    def __del__(self):
        PROBE.probe_repeat(1000)
        for _ in range(100000):
            pass


def main():
    threads = [threading.Thread(target=come_and_go, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(PROBE.probe_records(), len(WRONG), WRONG[:1], flush=True)
    for depth in (0, 10, 40):
        threading.Thread(target=walk_to_the_end, args=(depth,), daemon=True).start()
    time.sleep(0.05)


LATE = [Late() for _ in range(3)]
main()
