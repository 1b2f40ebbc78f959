// Tests NVTX ranges of targets across forks and connections. test/runtime/cuda/library_nvtx_test.py tests the rest.
#include "nvtx/ranges.h"

#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "base/monotonic_clock.h"
#include "catch.h"
#include "child.h"
#include "fake_recorder.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"

using gpuprof::test::FakeRecorder;
using gpuprof::test::fork_child;
using gpuprof::test::Source;
using gpuprof::test::wait_for;
namespace injection = gpuprof::injection;

namespace {

int push(std::string_view name, uint32_t domain = injection::kDefaultDomain) {
  return injection::push_range(domain, injection::range_label(domain, name.data(), name.size()));
}

uint64_t start(std::string_view name) {
  return injection::start_range(injection::range_label(injection::kDefaultDomain, name.data(), name.size()));
}

int pop() {
  return injection::pop_range(injection::kDefaultDomain);
}

void launch_in_range(uint64_t correlation) {
  if (injection::active()) {
    injection::launch(correlation);
  }
}

template <typename Body>
std::vector<Source> record_ranges(const Body& body, FakeRecorder::Options options = {}) {
  options.control |= GPUPROF_CONTROL_ENABLED | GPUPROF_CONTROL_LAUNCH_RECORDS;
  FakeRecorder recorder(options);
  REQUIRE(recorder.listening());
  const pid_t pid = fork_child(recorder.environment(), [&] {
    injection::init_ranges();
    return body();
  });
  recorder.start();
  const int status = wait_for(pid);
  recorder.stop();
  CHECK(status == 0);
  return recorder.sources();
}

// Returns "outer/inner" of each launch, by correlation id.
std::map<uint64_t, std::string> paths_of(const Source& source) {
  std::map<uint32_t, gpuprof_range> ranges;
  for (const gpuprof_range& range : source.ranges) {
    CHECK(ranges.emplace(range.id, range).second);
  }
  std::map<uint64_t, std::string> paths;
  for (const gpuprof_launch& launched : source.launch_records) {
    std::string path;
    for (uint32_t id = launched.range; id != 0; id = ranges[id].parent) {
      REQUIRE(ranges.count(id) == 1);
      const std::string& name = source.names.at(ranges[id].name_id);
      path = path.empty() ? name : name + "/" + path;
    }
    paths[launched.correlation] = path;
  }
  return paths;
}

TEST_CASE("a forked child inherits the open ranges and sends them again") {
  const auto sources = record_ranges([] {
    push("before");
    injection::start("test");
    launch_in_range(1);
    start("whole");
    const pid_t child = fork();
    if (child == 0) {
      launch_in_range(2);
      push("child");
      launch_in_range(3);
      pop();
      pop();
      launch_in_range(4);
      _exit(0);
    }
    launch_in_range(5);
    return wait_for(child);
  });
  REQUIRE(sources.size() == 2);
  CHECK(paths_of(sources[0]) == std::map<uint64_t, std::string>{{1, "before"}, {5, "whole/before"}});
  CHECK(paths_of(sources[1]) ==
        std::map<uint64_t, std::string>{{2, "whole/before"}, {3, "whole/before/child"}, {4, "whole"}});
}

TEST_CASE("a range path is sent once, even if many threads use it") {
  constexpr int kThreads = 8;
  constexpr int kRounds = 500;
  const auto sources = record_ranges([] {
    injection::start("test");
    start("whole");
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < kRounds; ++i) {
          push("round " + std::to_string(i));
          launch_in_range(static_cast<uint64_t>(t * kRounds + i + 1));
          if (i % 16 == 0) {
            injection::end_range(start("for a moment"));
          }
          pop();
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return 0;
  });
  REQUIRE(sources.size() == 1);
  const auto paths = paths_of(sources[0]);
  CHECK(paths.size() == size_t{kThreads} * kRounds);
  // On a busy machine a thread may not get the lock for its path or for a range's name, which counts as a loss.
  uint64_t inexact = 0;
  for (const auto& [correlation, path] : paths) {
    const std::string round = "round " + std::to_string((correlation - 1) % kRounds);
    const bool exact =
        path.starts_with("whole/") && path.ends_with("/" + round);  // ranges of other threads may lie between the two
    inexact += exact ? 0 : 1;
  }
  CHECK(inexact <= sources[0].lost[GPUPROF_LOSS_DETAIL] + sources[0].lost[GPUPROF_LOSS_RANGE_LIMIT]);
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> different;
  for (const gpuprof_range& range : sources[0].ranges) {
    CHECK(different.emplace(range.parent, range.domain_id, range.name_id).second);
  }
}

TEST_CASE("launches in too many nested ranges are counted") {
  constexpr int kDepth = 70;
  constexpr int kKept = 64;
  const auto sources = record_ranges([] {
    injection::start("test");
    for (int i = 0; i < kDepth; ++i) {
      push(std::to_string(i));
      launch_in_range(static_cast<uint64_t>(i) + 1);
    }
    for (int i = 0; i < kDepth; ++i) {
      pop();
    }
    launch_in_range(kDepth + 1);
    return 0;
  });
  REQUIRE(sources.size() == 1);
  const auto paths = paths_of(sources[0]);
  CHECK(paths.at(kKept).ends_with("/63"));
  CHECK(paths.at(kDepth) == paths.at(kKept));
  CHECK(paths.at(kDepth + 1).empty());
  CHECK(sources[0].lost[GPUPROF_LOSS_RANGE_LIMIT] == kDepth - kKept);
}

TEST_CASE("the wanted range is found among too many open ranges") {
  constexpr int kOpen = 300;
  const auto launched = [](const char* wanted) {
    FakeRecorder::Options options;
    std::strcpy(options.wanted.nvtx_range, wanted);
    const auto sources = record_ranges(
        [] {
          injection::start("test");
          for (int i = 0; i < kOpen; ++i) {
            start("open " + std::to_string(i));
          }
          launch_in_range(1);
          for (int i = 0; i < 2 * kOpen; ++i) {
            push("pushed " + std::to_string(i));
          }
          launch_in_range(2);
          for (int i = 0; i < 2 * kOpen; ++i) {
            pop();
          }
          launch_in_range(3);
          return 0;
        },
        options);
    REQUIRE(sources.size() == 1);
    std::set<uint64_t> correlations;
    for (const gpuprof_launch& launch : sources[0].launch_records) {
      correlations.insert(launch.correlation);
    }
    return std::pair(correlations, sources[0].lost[GPUPROF_LOSS_RANGE_LIMIT]);
  };
  using Found = std::set<uint64_t>;
  CHECK(launched("open 299") == std::pair(Found{1, 2, 3}, uint64_t{1}));
  CHECK(launched("pushed 63") == std::pair(Found{2}, uint64_t{1}));
  CHECK(launched("pushed 500") == std::pair(Found{2}, uint64_t{1}));
  // This range is too deep to be stored. So it is not known whether the launch was inside of it.
  CHECK(launched("pushed 599") == std::pair(Found{}, uint64_t{1}));
}

// Ranges that the signal handler ends, one per signal. A signal may interrupt a thread that holds the lock.
uint64_t to_end[100];
std::atomic<uint32_t> ended = 0;
std::atomic<uint32_t> in_vain = 0;  // number of handlers that gave up waiting for the lock

void end_one(int /*signal*/) {
  if (ended == std::size(to_end)) {
    return;
  }
  constexpr uint64_t kLockNs = 20'000'000;
  const uint64_t begin = injection::now_ns();
  injection::end_range(to_end[ended++]);
  in_vain += injection::now_ns() - begin >= kLockNs ? 1 : 0;
}

TEST_CASE("a range ends even if its lock is not available") {
  const auto sources = record_ranges([] {
    injection::start("test");
    for (uint64_t& id : to_end) {
      id = start("to be ended");
    }
    launch_in_range(1);
    struct sigaction action = {};
    action.sa_handler = end_one;
    sigaction(SIGPROF, &action, nullptr);
    const itimerval often = {{0, 2000}, {0, 2000}};
    setitimer(ITIMER_PROF, &often, nullptr);
    while (ended < std::size(to_end)) {
      injection::end_range(0);  // no range has the id 0, so this searches all ranges with the lock held
    }
    setitimer(ITIMER_PROF, nullptr, nullptr);
    launch_in_range(2);
    injection::end_range(start("after"));
    launch_in_range(3);
    injection::finish();
    return in_vain > 0 ? 0 : 1;
  });
  REQUIRE(sources.size() == 1);
  const auto paths = paths_of(sources[0]);
  CHECK(paths.at(1).starts_with("to be ended/to be ended/"));
  CHECK(paths.at(2).empty());
  CHECK(paths.at(3).empty());
}

TEST_CASE("invalid domains and labels of a program are rejected") {
  const auto sources = record_ranges([] {
    injection::start("test");
    push("of no domain", 4711);
    const uint32_t domain = injection::range_domain("one", 3);
    if (injection::range_domain("one", 3) != domain || injection::range_domain("two", 3) == domain) {
      return 1;
    }
    injection::push_range(domain, injection::checked_label(domain, 4'000'000'000U));
    launch_in_range(1);
    if (injection::pop_range(domain) != 0 || injection::pop_range(domain) != -1 || injection::pop_range(4711) != 0) {
      return 2;
    }
    injection::end_range(0);
    injection::end_range(~uint64_t{0});
    launch_in_range(2);
    return 0;
  });
  REQUIRE(sources.size() == 1);
  CHECK(paths_of(sources[0]) == std::map<uint64_t, std::string>{{1, "of no domain/[more ranges]"}, {2, ""}});
}

TEST_CASE("a range is selected by its name, or by name and domain") {
  FakeRecorder::Options options;
  std::strcpy(options.wanted.nvtx_range, "step@lib");
  const auto sources = record_ranges(
      [] {
        push("early");
        injection::start("test");
        const uint32_t domain = injection::range_domain("lib", 3);
        const bool outside = injection::in_wanted_range();
        push("step");
        const bool other_domain = injection::in_wanted_range();
        push("step", domain);
        push("deeper");
        const bool inside = injection::in_wanted_range();
        pop();
        injection::pop_range(domain);
        const bool after = injection::in_wanted_range();
        return !outside && !other_domain && inside && !after ? 0 : 1;
      },
      options);
  CHECK(sources.size() == 1);
}

}  // namespace
