#include "stack/stacks.h"

#include <dlfcn.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "base/monotonic_clock.h"
#include "catch.h"
#include "ipc/process_state.h"
#include "recorded.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/module_scan.h"
#include "runtime/work.h"
#include "stack/native_walk.h"

using gpuprof::test::FakeRecorder;
using gpuprof::test::op_with;
using gpuprof::test::record;
using gpuprof::test::record_one;
using gpuprof::test::Source;
using gpuprof::test::wait_until_read;
namespace injection = gpuprof::injection;

namespace {

FakeRecorder::Options with_stacks() {
  FakeRecorder::Options options;
  options.control = GPUPROF_CONTROL_ENABLED | GPUPROF_CONTROL_LAUNCH_RECORDS;
  options.wanted.flags = GPUPROF_OPTION_STACKS;
  return options;
}

__attribute__((noinline)) void launch_at(int depth, uint64_t correlation) {
  if (depth > 0) {
    launch_at(depth - 1, correlation);
  } else {
    injection::launch(correlation);
  }
  __asm__ volatile("" ::: "memory");
}

size_t depth_of(const Source& source, const gpuprof_launch& launch) {
  const auto found = source.stacks.find(launch.stack);
  return found == source.stacks.end() ? 0 : found->second.words.size();
}

int faults(const Source& source) {
  int count = 0;
  for (const gpuprof_launch& launch : source.launch_records) {
    const auto found = source.stacks.find(launch.stack);
    count += found == source.stacks.end() || (found->second.flags & GPUPROF_STACK_TRUNCATED) != 0 ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("a stack is sent once, and each launch refers to it") {
  const Source source = record_one(with_stacks(), [] {
    for (uint64_t i = 1; i <= 1000; ++i) {
      launch_at(3, i);
    }
    for (uint64_t i = 1; i <= 10; ++i) {
      launch_at(4, 1000 + i);
    }
    injection::finish();
    return 0;
  });
  REQUIRE(source.launch_records.size() == 1010);
  CHECK(source.stack_records == 2);
  CHECK(faults(source) == 0);
  CHECK(source.all_lost() == 0);
  std::set<uint64_t> ids;
  for (const gpuprof_launch& launch : source.launch_records) {
    ids.insert(launch.stack);
  }
  CHECK(ids.size() == 2);
  CHECK(depth_of(source, source.launch_records[1000]) == depth_of(source, source.launch_records[0]) + 1);
  const auto function = reinterpret_cast<uint64_t>(launch_at);  // the address of launch_at() in the child
  int inside = 0;
  for (const uint64_t word : source.stacks.begin()->second.words) {
    inside += word - function < 200 ? 1 : 0;
  }
  CHECK(inside >= 4);
  CHECK(source.stacks.begin()->second.flags == 0);
}

TEST_CASE("stacks are not walked if the recorder does not request them") {
  FakeRecorder::Options options = with_stacks();
  options.wanted.flags = 0;
  const Source source = record_one(options, [] {
    launch_at(3, 1);
    injection::finish();
    return 0;
  });
  REQUIRE(source.launch_records.size() == 1);
  CHECK(source.launch_records[0].stack == 0);
  CHECK(source.stack_records == 0);
}

TEST_CASE("a stack that does not fit into the ring is counted as lost") {
  FakeRecorder::Options options = with_stacks();
  options.tail = uint64_t{1} << 40;  // the ring never has free space
  const Source source = record_one(options, [] {
    for (uint64_t i = 1; i <= 5; ++i) {
      launch_at(3, i);
    }
    injection::finish();
    return 0;
  });
  CHECK(source.launches == 5);
  CHECK(source.lost[GPUPROF_LOSS_STACK] == 5);
  CHECK(source.lost[GPUPROF_LOSS_RING_FULL] == 0);  // no GPU work is missing
}

TEST_CASE("in a full ring, lost GPU work and missing stacks are counted separately") {
  constexpr uint64_t kLaunches =
      2 * GPUPROF_RING_COUNT * GPUPROF_RING_BYTES / sizeof(gpuprof_gpu_op);  // more records than the rings can hold
  FakeRecorder::Options options = with_stacks();
  options.drain = false;
  const Source source = record_one(options, [] {
    for (uint64_t i = 1; i <= kLaunches; ++i) {
      launch_at(3, i);
      injection::gpu_op(op_with(i), true);
    }
    injection::finish();
    return 0;
  });
  CHECK(source.launches == kLaunches);
  CHECK(source.lost[GPUPROF_LOSS_RING_FULL] > 0);
  CHECK(source.ops.size() + source.lost[GPUPROF_LOSS_RING_FULL] == kLaunches);
  CHECK(source.lost[GPUPROF_LOSS_STACK] > 0);
  CHECK(source.launch_records.size() + source.lost[GPUPROF_LOSS_STACK] == kLaunches);
}

TEST_CASE("many deep stacks arrive complete") {
  constexpr int kDepths = 700;
  const Source source = record_one(with_stacks(), [] {
    for (int round = 0; round < 3; ++round) {
      for (int depth = 0; depth < kDepths; ++depth) {
        launch_at(depth, static_cast<uint64_t>(depth) + 1);
      }
    }
    launch_at(6000, 100000);
    injection::finish();
    return 0;
  });
  REQUIRE(source.launch_records.size() == 3 * kDepths + 1);
  CHECK(source.stacks.size() == kDepths + 1);
  const gpuprof_launch& last = source.launch_records.back();
  CHECK(depth_of(source, last) == GPUPROF_STACK_MAX_WORDS);
  CHECK(source.stacks.at(last.stack).flags == GPUPROF_STACK_TRUNCATED);
  CHECK(faults(source) == 1);
  for (int i = 0; i + 1 < kDepths; ++i) {
    const auto at = static_cast<size_t>(i);
    REQUIRE(depth_of(source, source.launch_records[at + 1]) == depth_of(source, source.launch_records[at]) + 1);
  }
}

TEST_CASE("threads walk stacks concurrently") {
  constexpr int kThreads = 8;
  constexpr uint64_t kLaunches = 1000;
  const Source source = record_one(with_stacks(), [] {
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        for (uint64_t i = 0; i < kLaunches; ++i) {
          launch_at(static_cast<int>((i * 7 + t) % 40), t * kLaunches + i + 1);
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    injection::finish();
    return 0;
  });
  CHECK(source.launch_records.size() == kThreads * kLaunches);
  CHECK(faults(source) == 0);
  CHECK(source.all_lost() == 0);
}

namespace {

constexpr uint64_t kInHandler = 1000000;
constexpr int kHandled = 40;
volatile sig_atomic_t handled = 0;

}  // namespace

// A handler that interrupts the write of a record never gets the ring, so its record is counted as lost.
TEST_CASE("a launch in a signal handler that interrupts another launch has its own stack") {
  const Source source = record_one(with_stacks(), [] {
    struct sigaction action = {};
    action.sa_handler = [](int) {
      handled = handled + 1;
      launch_at(2, kInHandler + static_cast<uint64_t>(handled));
    };
    sigaction(SIGPROF, &action, nullptr);
    // The timer fires once and is armed again: a periodic one could interrupt a slow handler without end.
    const itimerval once = {{0, 0}, {0, 4000}};
    int armed = -1;
    for (uint64_t i = 1; handled < kHandled; ++i) {
      if (armed != handled) {
        armed = handled;
        setitimer(ITIMER_PROF, &once, nullptr);
      }
      if (i % 16384 == 0) {
        wait_until_read();  // so that the rings have space for the handler's records
      }
      launch_at(10, i % kInHandler);
    }
    injection::finish();
    return 0;
  });
  uint64_t in_handler = 0;
  for (const gpuprof_launch& launch : source.launch_records) {
    in_handler += launch.correlation > kInHandler ? 1 : 0;
  }
  CHECK(in_handler > 0);
  uint64_t truncated = 0;
  for (const auto& [id, stack] : source.stacks) {
    truncated += stack.flags != 0 ? 1 : 0;
  }
  CHECK(truncated == 0);
}

#ifndef __SANITIZE_THREAD__  // ThreadSanitizer runs handlers later, in functions of its own: they interrupt no launch

namespace {

constexpr uint64_t kDepths = 40;
std::atomic<bool> sampled_enough{false};
std::atomic<uint64_t> handlers{0};  // number of calls of take_sample() that have ended
volatile sig_atomic_t in_launch = 0;
volatile sig_atomic_t samples = 0;  // number of stacks that they sent while in_launch was 1

// Takes the interrupted stack, as the handler of CPU samples does.
void take_sample(int /*signal*/, siginfo_t* /*info*/, void* context) {
  static injection::ThreadState state;
  state.in_handler = 1;
  state.tid = static_cast<uint32_t>(gettid());
  const uint64_t id = injection::take_interrupted_stack(injection::open_segment(), state, nullptr, context);
  samples = samples + (id != 0 ? in_launch : 0);
  ++handlers;
}

// Returns the words that called launch_at(). Returns no words unless launch_at() is on the stack.
std::vector<uint64_t> outside_of_launch_at(const gpuprof::test::StackRecord& stack) {
  const auto function = reinterpret_cast<uint64_t>(launch_at);
  const auto inside = std::find_if(stack.words.rbegin(), stack.words.rend(),
                                   [&](uint64_t word) { return (word & GPUPROF_WORD_ADDRESS) - function < 200; });
  return inside == stack.words.rend() ? std::vector<uint64_t>()
                                      : std::vector<uint64_t>(inside.base(), stack.words.end());
}

}  // namespace

TEST_CASE("a sample that interrupts the walk of a launch changes neither stack") {
  constexpr int kSamples = 20000;
  constexpr uint64_t kLongestNs = 3'000'000'000;
  const Source source = record_one(with_stacks(), [] {
    struct sigaction action = {};
    action.sa_sigaction = take_sample;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, nullptr);
    const pthread_t launching = pthread_self();
    std::thread sender([&] {
      for (uint64_t sent = 0; !sampled_enough; ++sent) {
        pthread_kill(launching, SIGUSR1);
        while (handlers == sent) {
          std::this_thread::yield();
        }
        // Without a pause between the signals, the launches would not go on.
        for (uint64_t i = 0; i < sent * 37 % 3000; ++i) {
          __asm__ volatile("" ::: "memory");
        }
      }
    });
    uint64_t i = 0;
    const uint64_t begin = injection::now_ns();
    // On a busy machine, the sender gets little time.
    for (; samples < kSamples && injection::now_ns() - begin < kLongestNs; ++i) {
      if (i % 4096 == 0) {
        wait_until_read();
      }
      in_launch = 1;
      launch_at(static_cast<int>(i * 7 % kDepths), i + 1);
      in_launch = 0;
    }
    sampled_enough = true;
    sender.join();
    injection::finish();
    return i >= kDepths ? 0 : 1;
  });
  std::map<uint64_t, std::set<uint64_t>> of_depth;
  std::set<std::vector<uint64_t>> outer;
  for (const gpuprof_launch& launch : source.launch_records) {
    of_depth[(launch.correlation - 1) * 7 % kDepths].insert(launch.stack);
  }
  REQUIRE(of_depth.size() == kDepths);
  const size_t base = source.stacks.at(*of_depth[0].begin()).words.size();
  for (const auto& [depth, ids] : of_depth) {
    REQUIRE(ids.size() == 1);
    REQUIRE(source.stacks.at(*ids.begin()).words.size() == base + depth);
  }
  CHECK(source.stacks.size() > kDepths);  // otherwise no sample interrupted a launch
  for (const auto& [id, stack] : source.stacks) {
    CHECK(stack.flags == 0);
    if (const auto words = outside_of_launch_at(stack); !words.empty()) {
      outer.insert(words);
    }
  }
  CHECK(outer.size() == 1);
}

#endif

TEST_CASE("a forked child sends its own stacks") {
  int status = -1;
  const std::vector<Source> sources = record(
      with_stacks(),
      [] {
        launch_at(3, 1);
        const pid_t pid = fork();
        if (pid == 0) {
          launch_at(3, 2);  // the target is not connected yet
          if (injection::active()) {
            launch_at(3, 3);
          }
          injection::finish();
          _exit(0);
        }
        const int child = gpuprof::test::wait_for(pid);
        launch_at(3, 4);
        injection::finish();
        return child;
      },
      &status);
  CHECK(status == 0);
  REQUIRE(sources.size() == 2);
  for (const Source& source : sources) {
    CHECK(faults(source) == 0);
    CHECK(source.stack_records >= 1);
  }
}

TEST_CASE("a new recorder receives all stacks again") {
  FakeRecorder recorders[2] = {FakeRecorder(with_stacks()), FakeRecorder(with_stacks())};
  const pid_t pid = gpuprof::test::fork_child({}, [&] {
    for (uint64_t i = 0; i < 2; ++i) {
      const auto environment = recorders[i].environment();
      if (!injection::start_attached("test", environment[0].second.c_str(), environment[1].second.c_str(), geteuid())) {
        return 1;
      }
      launch_at(3, i + 1);
      injection::disable("the next one comes");
    }
    return 0;
  });
  recorders[0].start();
  recorders[1].start();
  CHECK(gpuprof::test::wait_for(pid) == 0);
  for (FakeRecorder& recorder : recorders) {
    recorder.stop();
    REQUIRE(recorder.sources().size() == 1);
    CHECK(recorder.sources()[0].launch_records.size() == 1);
    CHECK(recorder.sources()[0].stack_records == 1);
    CHECK(faults(recorder.sources()[0]) == 0);
  }
}

#ifndef __SANITIZE_THREAD__  // ThreadSanitizer turns vfork() into a fork
TEST_CASE("a child forked during a scan of the loader's list can load libraries") {
  int status = -1;
  record(
      with_stacks(),
      [] {
        std::atomic<bool> done{false};
        std::thread looking([&] {
          while (!done) {
            injection::scan_modules();
            std::this_thread::yield();
          }
        });
        // fork() waits for the module scan only up to a limit, because the scanning thread may be off the CPU.
        constexpr uint64_t kHeldOffNs = 500'000'000;
        int failed = 0;
        for (int i = 0; i < 200 && failed == 0; ++i) {
          const uint64_t begin = injection::now_ns();
          const pid_t pid = fork();
          if (pid == 0) {
            alarm(10);
            _exit(dlopen(GPUPROF_TEST_FRAMES_SMALL, RTLD_NOW | RTLD_LOCAL) != nullptr ? 0 : 1);
          }
          const bool gave_up = injection::now_ns() - begin >= kHeldOffNs;
          const int child = gpuprof::test::wait_for(pid);
          failed = gave_up ? 0 : child;
        }
        done = true;
        looking.join();
        return failed == 0 ? 0 : 1;
      },
      &status);
  CHECK(status == 0);
}

TEST_CASE("a launch between vfork and exec belongs to the parent") {
  const Source source = record_one(with_stacks(), [] {
    const pid_t pid = vfork();
    if (pid == 0) {
      launch_at(3, 1);
      _exit(0);
    }
    const int child = gpuprof::test::wait_for(pid);
    launch_at(3, 2);
    injection::finish();
    return child;
  });
  CHECK(source.launch_records.size() == 2);
  CHECK(faults(source) == 0);
}
#endif

TEST_CASE("at its end, a process waits until the recorder could read its mappings") {
  const Source source = record_one(with_stacks(), [] {
    launch_at(3, 1);
    const uint64_t begin = injection::now_ns();
    injection::finish();
    return injection::now_ns() - begin > 1500000 ? 0 : 1;  // finish() waits for two heartbeats of the recorder
  });
  CHECK(source.state == GPUPROF_STATE_FINISHED);
}

// ---- libraries that replace each other -----------------------------------------------------------------------------

namespace {

constexpr const char* kLibraries[] = {GPUPROF_TEST_FRAMES_SMALL, GPUPROF_TEST_FRAMES_LARGE};
constexpr uint64_t kPerTurn = 3;  // starting with the second walk, frames come from the cache

void launch_next(void* correlation) {
  injection::launch(++*static_cast<uint64_t*>(correlation));
}

int launch_through_libraries() {
  using CallBack = void (*)(void (*)(void*), void*);
  uint64_t correlation = 0;
  for (int turn = 0; turn < 40; ++turn) {
    void* library = dlopen(kLibraries[turn % 2], RTLD_NOW | RTLD_LOCAL);
    const auto function =
        library == nullptr ? nullptr : reinterpret_cast<CallBack>(dlsym(library, "gpuprof_test_call_back"));
    if (function == nullptr) {
      return 1;
    }
    for (uint64_t i = 0; i < kPerTurn; ++i) {
      function(launch_next, &correlation);
    }
    dlclose(library);
  }
  injection::finish();
  return 0;
}

bool is_on(const gpuprof::test::StackRecord& stack, const gpuprof::test::ModuleRecord& module) {
  return std::any_of(stack.words.begin(), stack.words.end(),
                     [&](uint64_t word) { return word >= module.start && word < module.end; });
}

}  // namespace

TEST_CASE("stacks through libraries that replace each other are distinct and refer to their library") {
  const Source source = record_one(with_stacks(), launch_through_libraries);
  REQUIRE(source.launch_records.size() == 40 * kPerTurn);
  CHECK(source.all_lost() == 0);
  std::map<std::vector<uint64_t>, std::set<uint64_t>> by_words;
  std::set<uint64_t> ids[2];
  for (const gpuprof_launch& launch : source.launch_records) {
    const uint64_t which = (launch.correlation - 1) / kPerTurn % 2;
    const auto found = source.stacks.find(launch.stack);
    REQUIRE(found != source.stacks.end());
    ids[which].insert(launch.stack);
    by_words[found->second.words].insert(launch.stack);
    bool named = false;
    for (const uint32_t number : found->second.modules) {
      const auto& module = source.modules.at(number);
      CHECK(module.path != kLibraries[1 - which]);
      named |= module.path == kLibraries[which] && is_on(found->second, module);
    }
    CHECK(named);
  }
  for (const uint64_t id : ids[0]) {
    CHECK(ids[1].count(id) == 0);
  }
  size_t shared = 0;  // stacks of both libraries with the same words (addresses)
  for (const auto& [words, their_ids] : by_words) {
    shared += their_ids.size() > 1 ? 1 : 0;
  }
  CHECK(shared > 0);  // otherwise no address was reused, and the test proves nothing
}

TEST_CASE("the marks that are sent for a module are bytes of its file") {
  const Source source = record_one(with_stacks(), launch_through_libraries);
  int checked = 0;
  for (const auto& [number, module] : source.modules) {
    INFO(module.path);
    CHECK(number < GPUPROF_MAX_MODULES);
    CHECK((module.start % 4096 == 0 && module.end % 4096 == 0 && module.offset % 4096 == 0));
    CHECK(module.start < module.end);
    CHECK(module.marks.size() >= 3);  // a library without a build id has only 3 of the 4 marks
    std::ifstream file(module.path, std::ios::binary);
    for (const auto& [offset, wanted] : module.marks) {
      std::string bytes(wanted.size(), 0);
      file.seekg(static_cast<std::streamoff>(offset));
      file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      CHECK(bytes == wanted);
    }
    checked += module.path == kLibraries[0] || module.path == kLibraries[1] ? 1 : 0;
  }
  CHECK(checked >= 2);
}

TEST_CASE("a module is sent once, before the stacks that refer to it") {
  const Source source = record_one(with_stacks(), [] {
    for (int depth = 0; depth < 50; ++depth) {
      launch_at(depth, static_cast<uint64_t>(depth) + 1);
    }
    injection::finish();
    return 0;
  });
  CHECK(source.stack_records == 50);
  CHECK(source.module_records == source.modules.size());
  std::set<std::string> paths;
  for (const auto& [number, module] : source.modules) {
    CHECK(paths.insert(module.path).second);
  }
  CHECK(source.bad_records == 0);  // each module came before its stacks
}

TEST_CASE("the recorder is notified when libraries are loaded or unloaded") {
  const Source source = record_one(with_stacks(), [] {
    injection::scan_modules();
    injection::scan_modules();
    void* library = dlopen(kLibraries[0], RTLD_NOW | RTLD_LOCAL);
    injection::scan_modules();
    injection::scan_modules();
    dlclose(library);
    injection::scan_modules();
    injection::finish();
    return 0;
  });
  CHECK(source.mappings_changed == 2);
}
