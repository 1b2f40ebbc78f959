#include "record/join/off_cpu.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "catch.h"

namespace {

using gpuprof::record::blocked_reason;
using gpuprof::record::look_at_thread;
using gpuprof::record::OffCpu;
using gpuprof::record::OffCpuPart;
using gpuprof::record::poll_thread;
using gpuprof::record::ThreadId;
using gpuprof::record::ThreadPoll;
using gpuprof::record::ThreadPolls;
using gpuprof::record::ThreadStates;

std::string split(const ThreadPoll& before, const ThreadPoll& now) {
  std::string text;
  gpuprof::record::split_off_cpu(
      before, now, [&](const OffCpu& time) { text += std::to_string(time.ns) + " " + std::string(time.reason) + ";"; });
  return text;
}

std::string split(const gpuprof_bpf_off_cpu& off) {
  std::string text;
  gpuprof::record::split_off_cpu(off, [&](const OffCpuPart& part) {
    text += std::to_string(part.start_ns) + "-" + std::to_string(part.end_ns) + " " + std::string(part.reason) + ";";
  });
  return text;
}

constexpr uint64_t kPolledSecond = 1'000'000'000;

// A thread that waits until this object is destroyed.
class WaitingThread {
 public:
  WaitingThread()
      : thread_([this] {
          id_ = {static_cast<uint32_t>(getpid()), static_cast<uint32_t>(syscall(SYS_gettid))};
          started_.release();
          end_.acquire();
        }) {
    started_.acquire();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until it waits
  }
  ~WaitingThread() {
    end_.release();
    thread_.join();
  }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;
  [[nodiscard]] ThreadId id() const { return id_; }

 private:
  ThreadId id_;
  std::binary_semaphore started_{0};
  std::binary_semaphore end_{0};
  std::thread thread_;
};

// Returns the time for which a poll finds threads that do not compute.
uint64_t polled_ns(ThreadStates& states, uint64_t now_ns, uint64_t since_ns = 0) {
  uint64_t ns = 0;
  for (const ThreadId& id : states.ids()) {
    const std::string folder = "/proc/" + std::to_string(id.pid) + "/task/" + std::to_string(id.tid) + "/";
    std::optional<ThreadPoll> poll = poll_thread(folder, look_at_thread(folder, gpuprof::monotonic_ns));
    if (poll) {
      poll->time_ns = now_ns;
    }
    states.on_poll({id, poll}, since_ns, [&](const ThreadStates::Thread& thread, const ThreadPoll& now) {
      if (thread.last.time_ns != 0) {
        gpuprof::record::split_off_cpu(thread.last, now, [&](const OffCpu& time) { ns += time.ns; });
      }
    });
  }
  return ns;
}

// Adds threads that do not exist: no thread has such a number.
void add_invented(ThreadStates& states, uint32_t pid, uint32_t source, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    states.on_launch({pid, UINT32_MAX - i}, source, 0);
  }
}

}  // namespace

TEST_CASE("a time off a CPU is blocked until it is woken, then throttled, then without a processor") {
  gpuprof_bpf_off_cpu off{.type = GPUPROF_BPF_OFF_CPU,
                          .pid = 1,
                          .tid = 1,
                          .state = GPUPROF_OFF_CPU_BLOCKED,
                          .off_ns = 100,
                          .woken_ns = 400,
                          .in_ns = 500,
                          .throttled_ns = 30,
                          .stack = 0,
                          .system_call = SYS_futex,
                          .pad = 0,
                          .waker_stack = 0,
                          .waker = {}};
  REQUIRE(split(off) == "100-400 waits: futex;400-430 throttled;430-500 no processor;");
  off.throttled_ns = 1000;  // of other CPUs, too
  REQUIRE(split(off) == "100-400 waits: futex;400-500 throttled;");
  off.throttled_ns = 0;
  off.woken_ns = 0;
  REQUIRE(split(off) == "100-500 waits: futex;");
  off.system_call = UINT32_MAX;
  REQUIRE(split(off) == "100-500 page fault;");
  off.system_call = SYS_pread64;
  off.state |= GPUPROF_OFF_CPU_IO;
  REQUIRE(split(off) == "100-500 disk;");
  off.state |= GPUPROF_OFF_CPU_RECLAIM;
  REQUIRE(split(off) == "100-500 memory reclaim;");
  off.state |= GPUPROF_OFF_CPU_STOPPED;
  REQUIRE(split(off) == "100-500 stopped;");
  off.state = 0;
  REQUIRE(split(off) == "100-500 no processor;");
}

TEST_CASE("the first poll after a pause of the recording says nothing of the pause") {
  const WaitingThread waiting;
  ThreadStates states;
  states.on_launch(waiting.id(), 1, 0);
  CHECK(polled_ns(states, 1 * kPolledSecond) == 0);
  CHECK(polled_ns(states, 2 * kPolledSecond) > kPolledSecond / 2);
  CHECK(polled_ns(states, 100 * kPolledSecond, 99 * kPolledSecond) == 0);
  CHECK(polled_ns(states, 101 * kPolledSecond, 99 * kPolledSecond) > kPolledSecond / 2);
}

TEST_CASE("threads of a source that has ended are not polled any more") {
  const WaitingThread waiting;
  ThreadStates states;
  states.on_launch(waiting.id(), 1, 0);
  CHECK(polled_ns(states, 1 * kPolledSecond) == 0);
  states.end_source(2);
  CHECK(polled_ns(states, 2 * kPolledSecond) > 0);
  states.on_launch(waiting.id(), 3, 0);
  states.end_source(1);
  CHECK(polled_ns(states, 3 * kPolledSecond) > 0);
  states.end_source(3);
  CHECK(polled_ns(states, 4 * kPolledSecond) == 0);
  states.on_launch(waiting.id(), 2, 0);  // the process has connected again
  CHECK(polled_ns(states, 5 * kPolledSecond) == 0);
  CHECK(polled_ns(states, 6 * kPolledSecond) > 0);
}

TEST_CASE("the number of polled threads has a limit, until some of them have ended") {
  const WaitingThread waiting;
  const auto polls_waiting = [&](ThreadStates& states, uint32_t source) {
    states.on_launch(waiting.id(), source, 0);
    polled_ns(states, 1 * kPolledSecond);  // it forgets threads that do not exist
    return polled_ns(states, 2 * kPolledSecond) > 0;
  };
  ThreadStates states;
  add_invented(states, waiting.id().pid, 1, 255);
  CHECK(polls_waiting(states, 1));
  ThreadStates one_source;
  add_invented(one_source, waiting.id().pid, 1, 256);
  CHECK_FALSE(polls_waiting(one_source, 1));
  CHECK(polls_waiting(one_source, 1));
  ThreadStates all;
  for (uint32_t source = 1; source <= 16; ++source) {
    add_invented(all, source, source, 256);
  }
  CHECK_FALSE(polls_waiting(all, 17));
  CHECK(polls_waiting(all, 17));
}

TEST_CASE("threads are polled at irregular times until they are not wanted, or have ended") {
  std::optional<WaitingThread> waiting(std::in_place);
  ThreadPolls polls(2'000'000, gpuprof::monotonic_ns);
  const auto polls_of = [&](int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return polls.take();
  };
  CHECK(polls_of(20).empty());
  polls.set({waiting->id()});
  const auto found = polls_of(400);
  REQUIRE(found.size() > 20);
  std::vector<uint64_t> pauses;
  for (size_t i = 1; i < found.size(); ++i) {
    REQUIRE(found[i].id == waiting->id());
    REQUIRE(found[i].poll);
    CHECK(found[i].poll->blocked == "waits: futex");
    pauses.push_back(found[i].poll->time_ns - found[i - 1].poll->time_ns);
  }
  CHECK(*std::max_element(pauses.begin(), pauses.end()) > *std::min_element(pauses.begin(), pauses.end()) + 500'000);
  polls.set({});
  polls_of(50);
  CHECK(polls_of(50).empty());
  polls.set({waiting->id()});
  const ThreadId id = waiting->id();
  waiting.reset();
  polls_of(50);
  const auto ended = polls_of(100);
  REQUIRE_FALSE(ended.empty());
  CHECK(ended.back().id == id);
  CHECK_FALSE(ended.back().poll);
}

TEST_CASE("the time between two polls at a thread is split by its times and states") {
  const ThreadPoll running{.time_ns = 1000, .ran_ns = 500, .waited_ns = 50};
  const ThreadPoll asleep{.time_ns = 1000, .ran_ns = 500, .waited_ns = 50, .blocked = "sleeps"};
  CHECK(split(running, {.time_ns = 2000, .ran_ns = 1500, .waited_ns = 50}).empty());
  CHECK(split(running, {.time_ns = 2000, .ran_ns = 800, .waited_ns = 150, .blocked = "sleeps"}) ==
        "100 no processor;600 sleeps;");
  CHECK(split(asleep, {.time_ns = 2000, .ran_ns = 800, .waited_ns = 150}) == "100 no processor;600 sleeps;");
  CHECK(split(asleep, {.time_ns = 2000, .ran_ns = 500, .waited_ns = 50, .blocked = "waits: futex"}) ==
        "1000 waits: futex;");
  // It was blocked at no poll, so the reason is unknown.
  CHECK(split(running, {.time_ns = 2000, .ran_ns = 800, .waited_ns = 50}).empty());
  // Linux may count a time a little earlier or later than it passes.
  CHECK(split(running, {.time_ns = 2000, .ran_ns = 1400, .waited_ns = 900, .blocked = "disk"}) == "100 no processor;");
  CHECK(split(running, {.time_ns = 2000, .ran_ns = 9000, .waited_ns = 0}).empty());
}

TEST_CASE("waits for a processor are throttled as long as the cgroup was") {
  const ThreadPoll running{.time_ns = 1000, .ran_ns = 500, .waited_ns = 50, .throttled_ns = 7000};
  CHECK(split(running, {.time_ns = 2000, .ran_ns = 800, .waited_ns = 750, .throttled_ns = 7600}) ==
        "600 throttled;100 no processor;");
  CHECK(split(running, {.time_ns = 2000, .ran_ns = 800, .waited_ns = 750, .throttled_ns = 9000}) == "700 throttled;");
  CHECK(split(running, {.time_ns = 2000, .ran_ns = 1500, .waited_ns = 50, .throttled_ns = 9000}).empty());
}

TEST_CASE("a wait for a processor that is longer than the time between polls counts fully") {
  const ThreadId id{7, 8};
  ThreadStates states;
  states.on_launch(id, 1, 0);
  std::string text;
  const auto poll = [&](uint64_t time_ns, uint64_t ran_ns, uint64_t waited_ns) {
    states.on_poll({id, ThreadPoll{.time_ns = time_ns, .ran_ns = ran_ns, .waited_ns = waited_ns}}, 0,
                   [&](const ThreadStates::Thread& thread, const ThreadPoll& now) {
                     text += thread.last.time_ns == 0 ? "" : split(thread.last, now);
                   });
  };
  poll(1000, 100, 0);
  poll(2000, 100, 0);
  poll(3000, 100, 0);
  poll(4000, 150, 2900);
  CHECK(text == "2900 no processor;");
}

TEST_CASE("the files of throttled time belong to all cgroups of a process") {
  using gpuprof::record::throttle_files;
  CHECK(throttle_files("0::/a/b\n") == std::vector<std::string>{"/sys/fs/cgroup/a/b/cpu.stat",
                                                                "/sys/fs/cgroup/a/cpu.stat",
                                                                "/sys/fs/cgroup/cpu.stat"});
  CHECK(throttle_files("5:memory:/m\n4:cpuacct,cpu:/a\n3:cpuset:/s\n") ==
        std::vector<std::string>{"/sys/fs/cgroup/cpu/a/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"});
  CHECK(throttle_files("0::/\n") == std::vector<std::string>{"/sys/fs/cgroup/cpu.stat"});
  CHECK(throttle_files("nothing\n:\n").empty());
  CHECK(gpuprof::record::throttled_ns("nr_throttled 3\nthrottled_usec 12\n") == 12'000);
  CHECK(gpuprof::record::throttled_ns("nr_throttled 3\nthrottled_time 12\n") == 12);
  CHECK(gpuprof::record::throttled_ns("usage_usec 3\n") == 0);
}

TEST_CASE("the state and the system call of a thread say why it is blocked") {
  const auto in_call = [](long number, const char* registers) { return std::to_string(number) + registers; };
  CHECK(blocked_reason("7 (a) S) R 1", "running\n").empty());
  CHECK(blocked_reason("7 (a) R) S 1", in_call(SYS_futex, " 0x1 0x2 0x0 0x0 0x0 0x0 0x7f 0x7e\n")) == "waits: futex");
  CHECK(blocked_reason("7 (app) S 1", in_call(SYS_clock_nanosleep, " 0x0 0x0 0x7f 0x0 0x0 0x0 0x7f 0x7e\n")) ==
        "sleeps");
  CHECK(blocked_reason("7 (app) S 1", in_call(SYS_read, " 0x3 0x7f 0x10 0x0 0x0 0x0 0x7f 0x7e\n")) ==
        "waits: read or write");
  CHECK(blocked_reason("7 (app) D 1", in_call(SYS_read, " 0x3 0x7f 0x10 0x0 0x0 0x0 0x7f 0x7e\n")) == "disk");
  CHECK(blocked_reason("7 (app) S 1", in_call(SYS_fsync, " 0x3 0x7f 0x10 0x0 0x0 0x0 0x7f 0x7e\n")) ==
        "disk");  // fsync
  CHECK(blocked_reason("7 (app) D 1", "-1 0x7f 0x7e\n") == "page fault");
  CHECK(blocked_reason("7 (app) S 1", "running\n").empty());
  CHECK(blocked_reason("7 (app) R 1", in_call(SYS_clock_nanosleep, " 0x0 0x0 0x7f 0x0 0x0 0x0 0x7f 0x7e\n")) ==
        "sleeps");  // it woke up later
  CHECK(blocked_reason("7 (app) R 1", "").empty());
  CHECK(blocked_reason("7 (app) T 1", "") == "stopped");
  CHECK(blocked_reason("7 (app) S 1", "") == "waits");
  CHECK(blocked_reason("7 (app) D 1", "") == "disk");
  CHECK(blocked_reason("", "").empty());
}
