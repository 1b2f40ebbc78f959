#include "record/join/off_cpu.h"

#include <string>
#include <vector>

#include "catch.h"

namespace {

using gpuprof::record::blocked_reason;
using gpuprof::record::OffCpu;
using gpuprof::record::ThreadPoll;

std::string split(const ThreadPoll& before, const ThreadPoll& now) {
  std::string text;
  gpuprof::record::split_off_cpu(
      before, now, [&](const OffCpu& time) { text += std::to_string(time.ns) + " " + std::string(time.reason) + ";"; });
  return text;
}

}  // namespace

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

TEST_CASE("the state and the system call of a thread say why it is blocked") {
  CHECK(blocked_reason("7 (a) S) R 1", "running\n").empty());
  CHECK(blocked_reason("7 (a) R) S 1", "202 0x1 0x2 0x0 0x0 0x0 0x0 0x7f 0x7e\n") == "waits: futex");
  CHECK(blocked_reason("7 (app) S 1", "230 0x0 0x0 0x7f 0x0 0x0 0x0 0x7f 0x7e\n") == "sleeps");
  CHECK(blocked_reason("7 (app) S 1", "0 0x3 0x7f 0x10 0x0 0x0 0x0 0x7f 0x7e\n") == "waits: read or write");
  CHECK(blocked_reason("7 (app) D 1", "0 0x3 0x7f 0x10 0x0 0x0 0x0 0x7f 0x7e\n") == "disk");
  CHECK(blocked_reason("7 (app) D 1", "-1 0x7f 0x7e\n") == "page fault");
  CHECK(blocked_reason("7 (app) S 1", "running\n").empty());
  CHECK(blocked_reason("7 (app) T 1", "") == "stopped");
  CHECK(blocked_reason("7 (app) S 1", "") == "waits");
  CHECK(blocked_reason("7 (app) D 1", "") == "disk");
  CHECK(blocked_reason("", "").empty());
}
