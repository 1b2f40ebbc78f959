#!/usr/bin/env python3
"""root records a program that reports file names. The recorder opens them with the program's rights, within limits."""

import json
import os
import signal
import struct
import subprocess
import time
import zlib

import rig
import strangers
import wire_recorder

MEBI = 1 << 20

# A target that connects like an injection library, and sends GPU work whose stacks are in the given files. Its only
# argument is a JSON object. `modules` is a list of paths, `perf_map` is a number of bytes, and `anonymous` says whether the
# target has code in anonymous memory. Each module has one frame, at its address 0x1010.
CLIENT = wire_recorder.WIRE_LAYOUT + r"""
import array, ctypes, json, mmap, os, socket, struct, sys, time
plan = json.loads(sys.argv[1])
connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.connect("\0" + os.environ["GPUPROF_SOCKET"])
connection.send(HELLO.make(magic=WIRE_MAGIC, version=WIRE_VERSION, token=os.environ["GPUPROF_TOKEN"].encode(),
                           backend=b"opencl"))
_, files, _, _ = socket.recv_fds(connection, 64, 1)
memory = mmap.mmap(files[0], 0)
written = 0

def add(*made, **fields):
    global written
    made = record(*made, **fields)
    at = SEGMENT_DATA_OFFSET + written
    memory[at:at + len(made)] = made
    written += len(made)

def launch(number, word, modules):
    name = b"kernel_%d" % number
    add(RECORD_NAME, NAME, name, id=number, length=len(name))
    add(RECORD_STACK, STACK, struct.pack("<Q", word) + b"".join(struct.pack("<Q", module) for module in modules),
        stack=number, count=1, modules=len(modules))
    now = time.monotonic_ns()
    add(RECORD_LAUNCH, LAUNCH, correlation=number, time_ns=now, tid=os.getpid(), thread=b"main", stack=number)
    add(RECORD_GPU_OP, GPU_OP, correlation=number, start_ns=now, end_ns=now + 1000, name_id=number)

for number, path in enumerate(plan["modules"], 1):
    start = 0x100000000000 + (number << 24)
    path = path.encode()
    marks = (MODULE_MARK.make(offset=0, bytes=bytes.fromhex("7f454c4602010100")) +
             MODULE_MARK.make(offset=2**64 - 1) * 3)
    add(RECORD_MODULE, MODULE, path, start=start, end=start + 0x2000, module=number, path_bytes=len(path), marks=marks)
    launch(number, start + 0x1010 | WORD_EXACT, [number])
if plan["anonymous"]:
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    with open("/tmp/perf-%d.map" % os.getpid(), "wb") as file:
        file.write(b"%x 1000 compiled_function\n" % address)
        line = b"1000 10 " + b"n" * 60000 + b"\n"
        for _ in range(plan["perf_map"] // len(line)):
            file.write(line)
    launch(len(plan["modules"]) + 1, address + 0x10 | WORD_EXACT, [])
launches = len(plan["modules"]) + (1 if plan["anonymous"] else 0)
RING.put(memory, "launches", launches, ring(0))
SEGMENT.put(memory, "state", STATE_ACTIVE)
RING.put(memory, "head", written, ring(0))
# Waits until all records have been read: anonymous frames can be looked up only while this process lives.
deadline = time.monotonic() + 60
while RING.get(memory, "tail", ring(0)) < written and time.monotonic() < deadline:
    time.sleep(0.01)
time.sleep(0.2)
SEGMENT.put(memory, "state", STATE_FINISHED)
"""


def elf(function, debug_link=None, dwarf=()):
    """Returns an ELF file with a function at 0x1000. `debug_link`: (name, checksum) of its debug file. `dwarf`: a list of
    (name, bytes) of sections."""
    names = b"\0.symtab\0.strtab\0.gnu_debuglink\0.text\0" + b"".join(name.encode() + b"\0" for name, _ in dwarf)
    strings = b"\0" + function.encode() + b"\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 5, 0x1000, 0x100)
    link = b""
    if debug_link:
        link = debug_link[0].encode() + b"\0"
        link += b"\0" * (-len(link) % 4) + struct.pack("<I", debug_link[1])
    parts, at = [], 0x2000
    contents = [names, strings, symbols, link, *(part for _, part in dwarf)]
    for part in contents:
        parts.append((at, len(part)))
        at += (len(part) + 15) // 16 * 16
    header = bytes.fromhex("7f454c4602010100") + bytes(8)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, at, 0, 64, 56, 1, 64, 6 + len(dwarf), 4)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 0x2000, 0x2000, 0x1000)
    body = bytearray(at)
    body[:len(header) + len(segment)] = header + segment
    for (place, size), part in zip(parts, contents):
        body[place:place + size] = part
    kinds = [("", 0, 0, 0, 0), (".symtab", 2, 2, 2, 24), (".strtab", 3, 1, 0, 0), (".gnu_debuglink", 1, 3, 0, 0),
             (".shstrtab", 3, 0, 0, 0), (".text", 1, None, 0, 0)]
    sections = b""
    for name, kind, part, section_link, entry in kinds:
        offset = names.find(name.encode() + b"\0") if name in (".symtab", ".strtab", ".gnu_debuglink", ".text") else 0
        place, size = parts[part] if name and part is not None else (0x1000, 0x1000) if name == ".text" else (0, 0)
        flags, address = (6, 0x1000) if name == ".text" else (0, 0)
        if name == ".symtab":
            section_link = 2
        sections += struct.pack("<IIQQQQIIQQ", offset, kind, flags, address, place, size, section_link, 0, 8, entry)
    for (name, _), (place, size) in zip(dwarf, parts[4:]):
        sections += struct.pack("<IIQQQQIIQQ", names.find(name.encode() + b"\0"), 1, 0, 0, place, size, 0, 0, 1, 0)
    return bytes(body) + sections


def endless_dwarf():
    """Returns sections of 2 MiB that take hours to read: a thousand units share a list of ranges that are all empty."""
    abbreviations = bytes([1, 0x11, 0, 0x55, 0x17, 0, 0, 0])  # a unit without children, with DW_AT_ranges
    unit = struct.pack("<HIB", 4, 0, 8) + b"\1" + struct.pack("<I", 0)
    units = (struct.pack("<I", len(unit)) + unit) * 50_000
    return [(".debug_abbrev", abbreviations), (".debug_info", units),
            (".debug_ranges", struct.pack("<QQ", 0, 1) * 65_536 + bytes(16))]


class Recorded(rig.RuntimeTest):
    def setUp(self):
        super().setUp()
        scratch = strangers.Scratch()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name

    def put(self, name, data, mode=0o644):
        path = os.path.join(self.scratch, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, mode)
        return path

    def record_client(self, modules, perf_map=None, options=("--stacks=inproc",), **run_options):
        """Records CLIENT as another user. Returns (Profile, stderr, resources that the recorder used)."""
        plan = {"modules": modules, "anonymous": perf_map is not None, "perf_map": perf_map or 0}
        command = [rig.GPUPROF, "record", "-o", self.profile_path, "--user", strangers.victim().name, *options, "--",
                   strangers.sys_python(), "-c", CLIENT, json.dumps(plan)]
        with open(os.path.join(self.folder, "stderr"), "w+b") as output:
            recorder = subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                        **run_options)
            _, status, used = os.wait4(recorder.pid, 0)
            recorder.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            stderr = output.read().decode("utf-8", "replace")
        self.assertEqual(recorder.returncode, 0, stderr)
        profile = rig.Profile(self.profile_path)
        rig.remove_perf_maps(profile)
        launches = len(modules) + (1 if perf_map is not None else 0)
        self.assertEqual(profile.end()["gpu_records"], launches, stderr)
        self.assertEqual(profile.end()["with_stack"], launches, stderr)
        return profile, stderr, used

    def frames_of(self, profile):
        """Returns {kernel: frames}."""
        return {work.name: profile.stacks[work.ustack] for work, _ in profile.measured("GPU")}


class Files(Recorded):
    @strangers.needed
    def test_a_file_that_the_target_cannot_read_gives_no_names(self):
        plain = self.put("plain.so", elf("plain_function"))
        secret = self.put("secret.so", elf("secret_function"), 0o600)
        hidden = self.put("hidden/plain.so", elf("hidden_function"))
        os.chmod(os.path.dirname(hidden), 0o700)
        own = self.put("own.so", elf("own_function"), 0o400)
        os.chown(own, strangers.victim().uid, strangers.victim().gid)
        link = os.path.join(self.scratch, "link.so")
        os.symlink(secret, link)
        others = self.put("others.so", elf("others_function"), 0o400)
        os.chown(others, strangers.stranger().uid, strangers.stranger().gid)
        profile, stderr, _ = self.record_client([plain, secret, hidden, own, link, others])
        frames = self.frames_of(profile)
        self.assertEqual([frame.name for frame in frames["kernel_1"]], ["plain_function"], stderr)
        self.assertEqual([frame.name for frame in frames["kernel_4"]], ["own_function"], stderr)
        for kernel in ("kernel_2", "kernel_3", "kernel_5", "kernel_6"):
            self.assertRegex(frames[kernel][0].name, r"^\[\w+\.so\+0x1010\]$")
        with open(self.profile_path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for name in ("secret_function", "hidden_function", "others_function"):
            self.assertNotIn(name, text)

    @strangers.needed
    def test_special_files_do_not_block_the_recorder(self):
        plain = self.put("plain.so", elf("plain_function"))
        fifo = os.path.join(self.scratch, "fifo.so")
        os.mkfifo(fifo, 0o666)
        os.chmod(fifo, 0o666)
        profile, stderr, _ = self.record_client([fifo, "/dev/zero", "/dev/tty", self.scratch, "relative", plain])
        self.assertEqual(self.frames_of(profile)["kernel_6"][0].name, "plain_function", stderr)

    @strangers.needed
    def test_a_huge_perf_map_is_read_up_to_a_limit(self):
        _, _, usual = self.record_client([], perf_map=0)
        profile, stderr, used = self.record_client([], perf_map=300 * MEBI)
        self.assertEqual(self.frames_of(profile)["kernel_1"][0].name, "compiled_function", stderr)
        self.assertLess(used.ru_maxrss - usual.ru_maxrss, 256 * 1024, "KiB more than for a small one")
        self.assertEqual(profile.meta()["symbols.left_out.perf_maps"], ["1"])
        self.assertIn("1 perf maps cut short", stderr)

    @strangers.needed
    def test_debug_links_to_giant_files_cost_only_seconds(self):
        giant = elf("debug_function")
        modules = []
        for number in range(6):
            name = f"giant_{number}.debug"
            modules.append(self.put(f"module_{number}.so", elf(f"function_{number}", (name, 1))))
            for folder in ("", ".debug/"):
                os.truncate(self.put(folder + name, giant), 900 * MEBI if number else 20 << 30)
        good = elf("of_the_debug_file")
        self.put("good.debug", good)
        modules.append(self.put("good.so", elf("good_function", ("good.debug", zlib.crc32(good)))))
        profile, stderr, used = self.record_client(modules)
        frames = self.frames_of(profile)
        for number in range(6):
            self.assertEqual(frames[f"kernel_{number + 1}"][0].name, f"function_{number}", stderr)
        self.assertEqual(frames["kernel_7"][0].name, "good_function")
        self.assertLess(used.ru_utime + used.ru_stime, 25, "seconds of processor time")
        self.assertGreater(int(profile.meta()["symbols.left_out.debug_links"][0]), 5)
        self.assertIn("debug files too large to be checked against their program", stderr)

    @strangers.needed
    def test_the_unwind_cache_is_not_made_through_a_link_of_others(self):
        if rig.unmet(("ebpf",)):
            self.skipTest(rig.unmet(("ebpf",)))
        shared = os.path.join(self.scratch, "shared")
        precious = os.path.join(self.scratch, "precious")
        os.mkdir(precious, 0o755)
        os.mkdir(shared)
        os.chmod(shared, 0o777)
        strangers.stranger().run(["ln", "-s", precious, os.path.join(shared, "gpuprof")], check=True)
        cache = os.path.join(shared, "gpuprof/unwind")
        for directory, made in ((cache, False), (os.path.join(shared, "other/unwind"), True)):
            environment = {**os.environ, "GPUPROF_UNWIND_CACHE": directory}
            run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--stacks=bpf", "--", rig.EXAMPLE],
                                   env=environment)
            stderr = run.stderr.decode("utf-8", "replace")
            self.assertEqual(run.returncode, 0, stderr)
            self.assertEqual(os.path.exists(directory) and bool(os.listdir(directory)), made, stderr)
        self.assertEqual(os.listdir(precious), [])


class ReaderProcess(Recorded):
    """The process that reads a target's files for root's recorder."""

    def start(self, modules):
        """Starts a recording that needs this process. Returns (recorder, pid of the process)."""
        plan = {"modules": modules, "anonymous": False, "perf_map": 0}
        recorder = self.start_recorder([rig.GPUPROF, "record", "-o", self.profile_path, "--user", strangers.victim().name,
                                        "--stacks=inproc", "--", strangers.sys_python(), "-c",
                                        CLIENT + "\ntime.sleep(300)", json.dumps(plan)])
        return recorder, self.wait_for_reader(recorder)

    def wait_for_reader(self, recorder, before=None):
        self.assertTrue(rig.wait_for(lambda: self.reader_of(recorder.pid) not in (None, before)))
        return self.reader_of(recorder.pid)

    def start_recorder(self, command):
        output = open(os.path.join(self.folder, "stderr"), "w+b")
        self.addCleanup(output.close)
        recorder = subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        return recorder

    @staticmethod
    def reader_of(parent):
        children = []
        for task in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as file:
                children += file.read().split()
        for pid in children:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                is_reader = b"read-for-recorder" in file.read()
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                if is_reader and "Seccomp:\t2" in file.read():
                    return int(pid)
        return None

    @strangers.needed
    def test_it_has_no_rights_and_shares_nothing_with_root(self):
        recorder, reader = self.start([self.put("endless.so", elf("function", dwarf=endless_dwarf()))])
        with open(f"/proc/{reader}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        users = {int(number) for number in status["Uid"].split() + status["Gid"].split()}
        self.assertEqual(len(users), 1)
        self.assertGreaterEqual(users.pop(), 0x70000000)
        self.assertEqual(status["Groups"].strip(), "")
        self.assertEqual((status["NoNewPrivs"], int(status["CapEff"], 16), int(status["CapPrm"], 16)), ("1", 0, 0))
        self.assertEqual(os.getsid(reader), reader)
        self.assertEqual(os.readlink(f"/proc/{reader}/cwd"), "/")
        self.assertEqual({os.readlink(f"/proc/{reader}/fd/{number}") for number in range(3)}, {"/dev/null"})
        with open(f"/proc/{reader}/environ", "rb") as file:
            self.assertEqual(file.read(), b"LC_ALL=C\0")
        for user in (strangers.victim(), strangers.stranger()):
            attack = user.python(
                "import ctypes, os, sys\n"
                "pid = int(sys.argv[1])\n"
                "def kill(): os.kill(pid, 0)\n"
                "def memory(): open(f'/proc/{pid}/mem')\n"
                "def files(): os.listdir(f'/proc/{pid}/fd')\n"
                "def trace():\n"
                "    if ctypes.CDLL(None, use_errno=True).ptrace(0x4206, pid, 0, 0) != 0: raise OSError\n"
                "for way in (kill, memory, files, trace):\n"
                "    try: way(); print(way.__name__)\n"
                "    except OSError: pass\n", str(reader), capture_output=True, text=True)
            self.assertEqual((attack.stdout, attack.returncode), ("", 0), attack.stderr)
        recorder.kill()

    @strangers.needed
    def test_a_file_that_takes_hours_to_read_does_not_delay_the_end(self):
        recorder, _ = self.start([self.put("endless.so", elf("function", dwarf=endless_dwarf()))])
        begun = time.monotonic()
        recorder.send_signal(signal.SIGTERM)
        recorder.wait(timeout=60)
        self.assertLess(time.monotonic() - begun, 12, "2 s, and 10 s for a busy machine")
        profile = rig.Profile(self.profile_path)
        self.assertRegex(self.frames_of(profile)["kernel_1"][0].name, r"^\[endless\.so\+0x1010\]$")
        self.assertEqual(profile.meta()["symbols.left_out.addresses"], ["1"])
        self.assertEqual(profile.end()["gpu_records"], 1)

    @strangers.needed
    def test_it_does_not_outlive_a_recorder_that_is_killed(self):
        recorder, reader = self.start([self.put("endless.so", elf("function", dwarf=endless_dwarf()))])
        recorder.kill()
        recorder.wait()
        self.assertTrue(rig.wait_for(lambda: not os.path.exists(f"/proc/{reader}")))

    @strangers.needed
    def test_root_without_the_right_to_kill_ends(self):
        good = self.put("good.so", elf("good_function"))
        plan = {"modules": [good], "anonymous": False, "perf_map": 0}
        recorder = self.start_recorder(["setpriv", "--bounding-set=-kill", "--inh-caps=-kill", rig.GPUPROF, "record", "-o",
                                        self.profile_path, "--user", strangers.victim().name, "--stacks=inproc", "--",
                                        strangers.sys_python(), "-c", CLIENT, json.dumps(plan)])
        self.assertEqual(recorder.wait(timeout=60), 0)
        self.assertEqual(self.frames_of(rig.Profile(self.profile_path))["kernel_1"][0].name, "good_function")

    @strangers.needed
    def test_another_file_is_read_after_the_process_was_killed(self):
        recorder, reader = self.start([self.put("endless.so", elf("function", dwarf=endless_dwarf())),
                                       self.put("good.so", elf("good_function"))])
        os.kill(reader, signal.SIGSEGV)
        self.wait_for_reader(recorder, before=reader)
        recorder.send_signal(signal.SIGINT)
        recorder.wait(timeout=60)
        profile = rig.Profile(self.profile_path)
        self.assertEqual(self.frames_of(profile)["kernel_2"][0].name, "good_function")
        self.assertEqual(profile.meta()["symbols.left_out.files"], ["1"])
        with open(os.path.join(self.folder, "stderr"), encoding="utf-8", errors="replace") as file:
            self.assertRegex(file.read(), r"the process that reads \S*endless\.so ended: its functions have no names")


class Commits(rig.RuntimeTest):
    """Tests whose git repositories give the commit of a recording."""

    def commit_in(self, folder):
        """Records in the folder, as root, and returns the stored commit, or None."""
        environment = {name: value for name, value in os.environ.items() if name not in ("GITHUB_SHA", "CI_COMMIT_SHA")}
        run = subprocess.run([rig.GPUPROF, "-q", "record", "-o", self.profile_path, "--", "true"], cwd=folder,
                             env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        return rig.Profile(self.profile_path).meta().get("source.commit", [None])[0]

    @strangers.needed
    def test_the_repository_of_another_user_above_the_folder_is_not_read(self):
        with strangers.Scratch(sticky=True) as scratch:
            work = os.path.join(scratch, "work")
            os.mkdir(work)
            made = strangers.stranger().python(
                "import os\nos.mkdir('.git')\nopen('.git/HEAD', 'w').write('5' * 40)", cwd=scratch)
            self.assertEqual(made.returncode, 0)
            self.assertIsNone(self.commit_in(work))

    @strangers.needed
    def test_links_in_roots_repository_are_not_followed(self):
        with strangers.Scratch() as scratch:
            os.mkdir(os.path.join(scratch, ".git"))
            head = os.path.join(scratch, ".git", "HEAD")
            with open(head, "w", encoding="ascii") as file:
                file.write("6" * 40)
            self.assertEqual(self.commit_in(scratch), "6" * 40)
            for path in (head, os.path.dirname(head)):
                mode = os.stat(path).st_mode & 0o777
                for more in (0o20, 0o02):
                    os.chmod(path, mode | more)
                    self.assertIsNone(self.commit_in(scratch), "others can write it")
                os.chmod(path, mode)
            inner = os.path.join(scratch, "inner")
            os.mkdir(inner)
            self.assertEqual(self.commit_in(inner), "6" * 40)
            os.symlink("nowhere", os.path.join(inner, ".git"))
            self.assertIsNone(self.commit_in(inner), "the nearest repository counts")
            os.rename(head, head + ".real")
            os.symlink("HEAD.real", head)
            self.assertIsNone(self.commit_in(scratch))


if __name__ == "__main__":
    rig.main()
