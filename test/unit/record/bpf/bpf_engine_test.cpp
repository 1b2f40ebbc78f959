// Runs the frame-pointer engine on this kernel. It probes a function of this program.

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "catch.h"
#include "record/bpf/stack_engine.h"
#include "symbolize/elf/elf_functions.h"

extern "C" void gpuprof_launch_probe(uint64_t correlation, uint32_t source, uint32_t range, const void* python);

namespace {

using gpuprof::record::LaunchStack;

struct Sink final : gpuprof::record::StackSink {
  void on_stack(uint64_t stack, uint32_t, std::span<const uint64_t> addresses, uint32_t, uint64_t) override {
    ++stack_events;
    stacks[stack].assign(addresses.begin(), addresses.end());
  }
  void on_process_code(uint32_t, const gpuprof::backend::PythonCode&) override {}
  void on_thread(uint32_t, uint32_t tid, std::string_view name) override { threads[tid] = name; }
  void on_loader(uint32_t) override {}
  void on_launch_stack(const LaunchStack& launch) override { launches.push_back(launch); }
  void on_counted_launch(uint32_t function, const LaunchStack&) override { ++counted[function]; }
  std::map<uint64_t, std::vector<uint64_t>> stacks;
  std::map<uint32_t, std::string> threads;
  std::map<uint32_t, int> counted;
  std::vector<LaunchStack> launches;
  int stack_events = 0;
};

__attribute__((noinline)) void site_a(uint64_t correlation) {
  gpuprof_launch_probe(correlation, 7, static_cast<uint32_t>(correlation + 3), nullptr);
  asm volatile("");
}
__attribute__((noinline)) void site_b(uint64_t correlation) {
  gpuprof_launch_probe(correlation, 7, static_cast<uint32_t>(correlation + 3), nullptr);
  asm volatile("");
}
__attribute__((noinline)) void caller_of_a(uint64_t correlation) {
  site_a(correlation);
  asm volatile("");
}

// The walk begins before the probe has a frame, so it misses the probe's caller, but not the caller's caller.
bool passes_through(const std::vector<uint64_t>& stack, void (*function)(uint64_t)) {
  const auto begin = reinterpret_cast<uint64_t>(function);
  return std::any_of(stack.begin(), stack.end(), [&](uint64_t a) { return a > begin && a < begin + 64; });
}

std::unique_ptr<gpuprof::record::StackEngine> engine_or_skip() {
  auto engine = gpuprof::record::make_bpf_engine(gpuprof::record::BpfWalk::frame_pointers);
  if (!engine) {
    std::cerr << "skipped: " << engine.error().message << "\n";
    return nullptr;
  }
  return std::move(*engine);
}

}  // namespace

TEST_CASE("each launch carries its correlation id and stack; a repeated stack is sent once", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  REQUIRE(engine->attach_library("/proc/self/exe").ok());
  const uint64_t before = gpuprof::monotonic_ns();
  for (uint64_t i = 0; i < 1000; ++i) {
    caller_of_a(i);
  }
  const uint64_t after = gpuprof::monotonic_ns();
  site_b(5000);
  std::thread([] {
    ::pthread_setname_np(::pthread_self(), "launcher");
    caller_of_a(6000);
  }).join();

  Sink sink;
  engine->drain(sink);
  REQUIRE(sink.launches.size() == 1002);
  for (uint64_t i = 0; i < 1000; ++i) {
    CHECK(sink.launches[i].correlation == i);
    CHECK(sink.launches[i].source == 7);
    CHECK(sink.launches[i].range == i + 3);
    CHECK(sink.launches[i].time_ns >= (i == 0 ? before : sink.launches[i - 1].time_ns));
    CHECK(sink.launches[i].time_ns <= after);
    CHECK(sink.launches[i].pid == static_cast<uint32_t>(::getpid()));
    CHECK(sink.launches[i].stack == sink.launches[0].stack);
  }
  CHECK(passes_through(sink.stacks.at(sink.launches[0].stack), caller_of_a));
  CHECK_FALSE(passes_through(sink.stacks.at(sink.launches[1000].stack), caller_of_a));
  CHECK(sink.launches[1000].stack != sink.launches[0].stack);
  CHECK(sink.stack_events == 3);
  CHECK(sink.threads.at(sink.launches[1001].tid) == "launcher");
  CHECK(engine->losses().launches == 0);
}

TEST_CASE("a full ring buffer is counted, and the engine continues afterwards") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  REQUIRE(engine->attach_library("/proc/self/exe").ok());
  constexpr uint64_t kLaunches = 400'000;  // exceeds the capacity of the buffer
  for (uint64_t i = 0; i < kLaunches; ++i) {
    site_b(i);
  }
  Sink sink;
  engine->drain(sink);
  CHECK(sink.launches.size() < kLaunches);
  CHECK(sink.launches.size() + engine->losses().launches == kLaunches);
  site_b(1);
  const size_t before = sink.launches.size();
  engine->drain(sink);
  CHECK(sink.launches.size() == before + 1);
}

TEST_CASE("a function that is probed in all processes counts only in the children that were named", "[bpf]") {
  const gpuprof::UniqueFd program(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto functions = gpuprof::symbolize::find_functions(program.get(), {"gpuprof_launch_probe"});
  REQUIRE(functions);
  REQUIRE(functions->size() == 1);
  const auto self = static_cast<uint32_t>(::getpid());
  for (const auto walk : {gpuprof::record::BpfWalk::frame_pointers, gpuprof::record::BpfWalk::tables}) {
    const auto made = gpuprof::record::make_bpf_engine(walk);
    if (!made) {
      std::cerr << "skipped: " << made.error().message << "\n";
      return;
    }
    gpuprof::record::StackEngine& engine = **made;
    REQUIRE(engine.attach_function("/proc/self/exe", functions->front().file_offset, 0, 5).ok());
    Sink sink;
    const auto counted = [&] {
      site_a(1);
      engine.drain(sink);
      return sink.counted[5];
    };
    CHECK(counted() == 0);
    CHECK(engine.count_child(self, true));
    CHECK(counted() == 1);
    CHECK(engine.count_child(self, false));
    CHECK(counted() == 1);
    REQUIRE(engine.attach_function("/proc/self/exe", functions->front().file_offset, self, 5).ok());
    CHECK(counted() == 2);
  }
}

TEST_CASE("a file without the launch probe is rejected", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  CHECK_FALSE(engine->attach_library("/bin/true").ok());
  CHECK_FALSE(engine->attach_library("/no/such/file").ok());
}
