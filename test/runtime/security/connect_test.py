#!/usr/bin/env python3
"""Tests who may connect: strangers at the recorder's socket, strangers in its place, and peers that change their user."""

import contextlib
import glob
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time

import rig
import strangers
import wire_layout
import wire_recorder

APP = os.environ.get("MOCK_CUDA_APP", "")
MOCKS = os.environ.get("MOCK_CUDA_DIR", "")

# Waits for a file, so that the test can prepare the attack, then executes the recorded program.
WHEN_TOLD = 'while ! test -e "$0"; do sleep 0.05; done; exec "$@"'

# Connects at full speed and keeps connections open until it is ended. Then prints how often it has connected.
FLOOD = """
import collections, signal, socket, sys
ended, kept = [], collections.deque(maxlen=300)
signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
print("ready", flush=True)
count = 0
while not ended:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    try:
        s.connect("\\0" + sys.argv[1])
        kept.append(s)
        count += 1
    except OSError:
        pass
print(count)
"""

# Makes /proc/PID/environ 1.5 GB of zeros that take no memory, connects, and sends nothing.
GIANT = """
import ctypes, mmap, os, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.sbrk.restype = libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
size = 1536 << 20
start = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
with open("/proc/self/stat") as file:
    numbers = [int(n) for n in file.read().rsplit(")", 1)[1].split()[1:]]
field = lambda n: numbers[n - 4]
values = [field(26), field(27), field(45), field(46), field(47), libc.sbrk(0), field(28), field(48), field(49), start,
          start + size, 0]
layout = ctypes.create_string_buffer(struct.pack("<12QII", *values, 0, 0xFFFFFFFF))
if libc.prctl(35, 14, ctypes.addressof(layout), len(layout) - 1, 0) != 0:  # PR_SET_MM, PR_SET_MM_MAP
    print("cannot", os.strerror(ctypes.get_errno()), flush=True)
    sys.exit(0)
fd = os.open("/proc/self/environ", os.O_RDONLY)
assert os.pread(fd, 8, 1 << 30) == bytes(8)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("\\0" + sys.argv[1])
print("connected", flush=True)
time.sleep(60)
"""

# Sends a given hello, and prints the number of bytes that come back.
CALLER = """
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.settimeout(5)
s.connect("\\0" + sys.argv[1])
try:
    s.send(bytes.fromhex(sys.argv[2]))
    print(len(s.recv(100)))
except ConnectionError:
    print(0)
"""

# Listens at the address of a dead recorder, and prints what each caller sends, until it is killed.
IMPOSTOR = """
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind("\\0" + sys.argv[1])
s.listen(16)
print("ready", flush=True)
while True:
    connection, _ = s.accept()
    connection.settimeout(5)
    try:
        print("said", connection.recv(1000).hex(), flush=True)
    except OSError as error:
        print("said", flush=True)
"""

# Listens at the address of a dead recorder. Sends unsealed memory, and truncates it once a target uses the memory.
CUTTER = wire_recorder.WIRE_LAYOUT + """
import mmap, os, socket, struct, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind("\\0" + sys.argv[1])
s.listen(16)
print("ready", flush=True)
connection, _ = s.accept()
print("said", connection.recv(1000).hex(), flush=True)
size = int(sys.argv[2])
fd = os.memfd_create("segment")
os.ftruncate(fd, size)
head = bytes.fromhex(sys.argv[3])
os.pwrite(fd, head, 0)
os.pwrite(fd, struct.pack("<Q", time.monotonic_ns()), SEGMENT.offset("heartbeat_ns"))
socket.send_fds(connection, [bytes.fromhex(sys.argv[4])], [fd])
print("said sent", flush=True)
deadline = time.monotonic() + 5
while os.pread(fd, 4, SEGMENT.offset("state")) == bytes(4) and time.monotonic() < deadline:
    time.sleep(0.001)
time.sleep(0.2)
os.ftruncate(fd, 0)
print("cut", flush=True)
"""

# A target that connects with its token and then becomes another user. Its child keeps the mapping and writes records to
# it. The stack in these records has one address, which the child reads from a file that the test writes.
CHANGES = wire_recorder.WIRE_LAYOUT + """
import mmap, os, socket, struct, sys, time
folder, program, early = sys.argv[1], sys.argv[2], sys.argv[3] == "early"
while not os.path.exists(folder + "/go"):
    time.sleep(0.02)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("\\0" + os.environ["GPUPROF_SOCKET"])
s.send(HELLO.make(magic=WIRE_MAGIC, version=WIRE_VERSION, token=os.environ["GPUPROF_TOKEN"].encode(), backend=b"mock"))
s.set_inheritable(True)
if not early:
    welcome, (fd,), _, _ = socket.recv_fds(s, 100, 1)
    memory = mmap.mmap(fd, 0)
    SEGMENT.put(memory, "state", STATE_ACTIVE)
    if os.fork() == 0:
        while not os.path.exists(folder + "/address"):
            time.sleep(0.02)
        with open(folder + "/address") as file:
            address = int(file.read())
        now = time.monotonic_ns()
        records = (record(RECORD_NAME, NAME, b"a_kernel", id=1, length=8) +
                   record(RECORD_STACK, STACK, struct.pack("<Q", address), stack=7, count=1) +
                   record(RECORD_LAUNCH, LAUNCH, correlation=1, time_ns=now, tid=os.getppid(), thread=b"main",
                          stack=7) +
                   record(RECORD_GPU_OP, GPU_OP, correlation=1, start_ns=now + 10, end_ns=now + 20, stream=1,
                          name_id=1))
        memory[SEGMENT_DATA_OFFSET:SEGMENT_DATA_OFFSET + len(records)] = records
        RING.put(memory, "launches", 1, ring(0))
        RING.put(memory, "head", len(records), ring(0))
        open(folder + "/written", "w").close()
        time.sleep(60)
        os._exit(0)
open(folder + "/connected", "w").close()
os.execv(program, [program, "60"])
"""


def socket_name(pid):
    """Returns the name of a recorder's socket. All users can read all socket names."""
    with open("/proc/net/unix", encoding="ascii", errors="replace") as file:
        names = dict(re.findall(r" (\d+) @(gpuprof-[0-9a-f]{24})$", file.read(), re.MULTILINE))
    for path in glob.glob(f"/proc/{pid}/fd/*"):
        with contextlib.suppress(OSError):
            if (name := names.get(os.readlink(path).removeprefix("socket:[").removesuffix("]"))) is not None:
                return name
    return None


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory(pid):
    """Returns the peak resident memory of the process in bytes, or 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            match = re.search(r"VmHWM:\s+(\d+) kB", file.read())
    except OSError:
        return 0
    return int(match.group(1)) * 1024 if match else 0


class Connect(rig.RuntimeTest):
    def setUp(self):
        super().setUp()
        if strangers.why_not():
            self.skipTest(strangers.why_not())
        scratch = strangers.Scratch()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name  # every user may read here
        self.go = os.path.join(self.scratch, "go")
        self.victim, self.stranger = strangers.victim(), strangers.stranger()

    def open_folder(self, name):
        """Makes a folder in which every user may write."""
        path = os.path.join(self.scratch, name)
        os.mkdir(path)
        os.chmod(path, 0o777)
        return path

    def application(self, *arguments):
        """Returns the command of a CUDA program that the victim may run."""
        if not APP:
            self.skipTest("no mock driver in this build")
        folder = os.path.join(self.scratch, "app")
        os.makedirs(folder, exist_ok=True)
        for path in [APP, *glob.glob(MOCKS + "/lib*.so*")]:
            shutil.copy(path, folder, follow_symlinks=True)
        return ["env", "LD_LIBRARY_PATH=" + folder, os.path.join(folder, os.path.basename(APP)), *arguments]

    def start(self, command, options=()):
        """As root, records a program of the victim. Returns the recorder and the name of its socket."""
        environment = {**os.environ, "TMPDIR": self.scratch}
        recorder = subprocess.Popen([rig.GPUPROF, "record", "-o", self.profile_path, *options, "--", *command],
                                    cwd=self.scratch, env=environment, stdin=subprocess.DEVNULL, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, recorder)
        # Waits for the profile's final name: the profile gets it once the target has been started.
        self.assertTrue(rig.wait_for(lambda: os.path.exists(self.profile_path) or recorder.poll() is not None))
        name = socket_name(recorder.pid)
        self.assertIsNotNone(name)
        return recorder, name

    @staticmethod
    def end(process):
        for child in children(process.pid):
            kill_tree(child)
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()

    def attack(self, user, code, *arguments, word="ready"):
        """Starts a program of `user`; returns once it has printed `word`."""
        process = user.start([strangers.sys_python(), "-c", code, *arguments], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        line = process.stdout.readline()
        if line.startswith("cannot"):
            self.skipTest(line)
        self.assertEqual(line, word + "\n")
        return process

    def test_a_flood_of_strangers_costs_little_and_blocks_no_target(self):
        recorder, name = self.start(["sh", "-c", WHEN_TOLD, self.go,
                                     *self.application("--rate", "500", "--seconds", "1")],
                                    ["--user", self.victim.name])
        floods = [self.attack(self.stranger, FLOOD, name) for _ in range(2)]
        time.sleep(0.5)
        begin, before = time.monotonic(), [cpu_seconds(process.pid) for process in (recorder, *floods)]
        time.sleep(4)
        cost, *costs = [cpu_seconds(process.pid) - was for process, was in zip((recorder, *floods), before)]
        share = cost / (time.monotonic() - begin)
        open(self.go, "w", encoding="ascii").close()
        stdout, stderr = recorder.communicate(timeout=60)
        counts = []
        for flood in floods:
            flood.terminate()
            counts.append(int(flood.communicate(timeout=60)[0]))
        self.assertEqual(recorder.returncode, 0, stderr)
        did, profile = json.loads(stdout), rig.Profile(self.profile_path)
        self.assertGreater(did["total_ops"], 0)
        self.assertEqual(profile.end()["gpu_records"], did["total_ops"], stderr)
        self.assertEqual(profile.end()["launches"], did["launches"])
        self.assertEqual(profile.end()["lost"], 0, stderr)
        self.assertGreater(sum(counts), 500)
        self.assertLess(share, 0.15, f"{counts} connections")
        # The recorder must use less CPU time than one attacker. A recorder that is always busy would use as much.
        self.assertLess(cost, 0.6 * sum(costs) / len(costs))

    def check_giant(self, user):
        recorder, name = self.start(["sh", "-c", WHEN_TOLD, self.go, "true"], ["--user", self.victim.name])
        self.attack(user, GIANT, name, word="connected")
        time.sleep(0.2)
        open(self.go, "w", encoding="ascii").close()
        peak, deadline = 0, time.monotonic() + 20
        while recorder.poll() is None and time.monotonic() < deadline and peak < 300 << 20:
            peak = max(peak, peak_memory(recorder.pid))
            time.sleep(0.01)
        self.assertGreater(peak, 0)
        self.assertLess(peak, 300 << 20)
        self.assertIsNotNone(recorder.poll(), "the recorder does not end")

    def test_a_giant_environment_of_a_stranger_is_not_read(self):
        self.check_giant(self.stranger)

    def test_a_giant_environment_without_the_token_is_not_read(self):
        self.check_giant(self.victim)

    def hello(self, pid):
        """Returns a hello with the recording's token, which is read from the environment of a recorded process."""
        with open(f"/proc/{pid}/environ", "rb") as file:
            token = re.search(rb"GPUPROF_TOKEN=([0-9a-f]{32})", file.read()).group(1)
        return wire_recorder.hello(token, b"mock").hex()

    def test_another_user_with_the_token_is_rejected(self):
        recorder, name = self.start(["sh", "-c", WHEN_TOLD, self.go, "true"], ["--user", self.victim.name])
        self.assertTrue(rig.wait_for(lambda: children(recorder.pid)))
        hello = self.hello(children(recorder.pid)[0])
        answers = [user.python(CALLER, name, hello, capture_output=True, text=True).stdout.strip()
                   for user in (self.victim, self.stranger)]
        self.assertEqual(answers, [str(wire_layout.WELCOME.size), "0"])  # the recorder answers only the target's user
        open(self.go, "w", encoding="ascii").close()
        recorder.communicate(timeout=60)

    def test_a_child_that_became_another_user_is_recorded(self):
        become = [strangers.sys_python(), "-c",
                  "import os, sys; os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[1])); "
                  "os.execvp(sys.argv[3], sys.argv[3:])", str(self.victim.uid), str(self.victim.gid)]
        recorder, _ = self.start(["sh", "-c", '"$@"; exit $?', "sh", *become, *self.application("--launches", "100")])
        stdout, stderr = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 0, stderr)
        self.assertEqual(rig.Profile(self.profile_path).end()["gpu_records"], json.loads(stdout)["total_ops"], stderr)

    def run_after_the_recorder(self, user, code, *arguments):
        """Kills the recorder before the target connects; then `user` takes its place. Returns (what that user received, the
        target's status)."""
        status = os.path.join(self.open_folder("out"), "status")
        script = WHEN_TOLD.replace('exec "$@"', f'"$@" >/dev/null; echo $? >{status}.new; mv {status}.new {status}')
        recorder, name = self.start(["sh", "-c", script, self.go,
                                     *self.application("--rate", "200", "--seconds", "2")],
                                    ["--user", self.victim.name])
        self.assertTrue(rig.wait_for(lambda: children(recorder.pid)))
        targets = children(recorder.pid)
        self.addCleanup(lambda: [kill_tree(pid) for pid in targets])
        recorder.kill()
        recorder.wait()
        impostor = self.attack(user, code, name, *arguments)
        open(self.go, "w", encoding="ascii").close()
        self.assertTrue(rig.wait_for(lambda: os.path.exists(status)), "the target does not end")
        impostor.kill()
        said = [line.split()[1:] for line in impostor.communicate()[0].splitlines() if line.startswith("said")]
        with open(status, encoding="ascii") as file:
            return said, int(file.read())

    def test_an_impostor_of_a_dead_recorder_receives_nothing(self):
        said, status = self.run_after_the_recorder(self.stranger, IMPOSTOR)
        self.assertEqual(status, 0)
        self.assertGreaterEqual(len(said), 1, "nobody has called")
        self.assertEqual([words for words in said if words], [])

    def test_memory_that_can_be_truncated_is_not_used(self):
        size = wire_layout.SEGMENT_BYTES
        head = wire_layout.SEGMENT.make(magic=wire_layout.WIRE_MAGIC, version=wire_layout.WIRE_VERSION, source_id=1,
                                        control=wire_layout.CONTROL_ENABLED)
        welcome = wire_recorder.welcome(1)
        root = strangers.User("root")
        said, status = self.run_after_the_recorder(root, CUTTER, str(size), head.hex(), welcome.hex())
        hello, sent = said
        self.assertEqual((len(bytes.fromhex(hello[0])), sent), (wire_layout.HELLO.size, ["sent"]))
        self.assertEqual(status, 0)

    def record_changing(self, early):
        """Returns (recorder, the process that becomes a set-user-id program, their folder)."""
        folder = self.open_folder("change")
        program = os.path.join(self.scratch, "set_user_id")
        shutil.copy("/bin/sleep", program)
        os.chmod(program, 0o4755)
        if os.statvfs(program).f_flag & os.ST_NOSUID or not os.stat(program).st_mode & stat.S_ISUID:
            self.skipTest("no set-user-id programs here: " + self.scratch)
        recorder, _ = self.start([strangers.sys_python(), "-c", CHANGES, folder, program, "early" if early else "late"],
                                 ["--user", self.victim.name, "--stacks", "inproc"])
        self.assertTrue(rig.wait_for(lambda: children(recorder.pid)))
        return recorder, children(recorder.pid)[0], folder

    def wait_until_refused(self):
        """Waits until the profile counts a refused process: the recorder checks once a second, and writes twice a second."""
        self.assertTrue(rig.wait_for(lambda: rig.Profile(self.profile_path).losses()["process_refused"] > 0))

    def finish_changing(self, recorder, pid):
        os.kill(pid, signal.SIGKILL)
        _, stderr = recorder.communicate(timeout=60)
        return rig.Profile(self.profile_path), stderr

    def test_a_peer_that_becomes_set_user_id_is_refused(self):
        recorder, pid, folder = self.record_changing(early=False)
        open(folder + "/go", "w", encoding="ascii").close()
        self.assertTrue(rig.wait_for(lambda: effective_user(pid) == 0), "it has not changed")
        with open(f"/proc/{pid}/maps", encoding="ascii") as file:
            line = next(line for line in file if " r-xp " in line and "set_user_id" in line)
        # Waits until the recorder is idle. Then the child writes a stack with an address that the recorder does not know,
        # which makes it read the process's mappings again: now those of a set-user-id program.
        time.sleep(0.3)
        with open(folder + "/address.new", "w", encoding="ascii") as file:
            file.write(str(int(line.split("-")[0], 16) + 64))
        os.rename(folder + "/address.new", folder + "/address")
        self.assertTrue(rig.wait_for(lambda: os.path.exists(folder + "/written")))
        self.wait_until_refused()
        for entry in glob.glob("/proc/[0-9]*"):  # the loop ends the process that still writes
            kill_if(int(entry[6:]), self.victim.uid)
        profile, stderr = self.finish_changing(recorder, pid)
        self.assertEqual([frame for stack in profile.stacks.values() for frame in stack
                          if "set_user_id" in frame.module + frame.file], [])
        self.assertEqual(profile.losses()["process_refused"], 1, stderr)
        self.assertIn("its rights have changed", stderr)

    def test_a_peer_that_is_already_set_user_id_is_refused(self):
        recorder, pid, folder = self.record_changing(early=True)
        os.kill(recorder.pid, signal.SIGSTOP)
        open(folder + "/go", "w", encoding="ascii").close()
        self.assertTrue(rig.wait_for(lambda: effective_user(pid) == 0), "it has not changed")
        os.kill(recorder.pid, signal.SIGCONT)
        self.wait_until_refused()
        profile, stderr = self.finish_changing(recorder, pid)
        self.assertEqual([command for _, _, _, command in profile.processes()], [])
        self.assertEqual(profile.losses()["process_refused"], 1, stderr)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def effective_user(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(re.search(r"Uid:\t\d+\t(\d+)", file.read()).group(1))


def kill_tree(pid):
    for child in children(pid):
        kill_tree(child)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_if(pid, uid):
    """Kills a process of one of the users that exist only for this test."""
    with contextlib.suppress(OSError):
        if os.stat(f"/proc/{pid}").st_uid == uid:
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    rig.main()
