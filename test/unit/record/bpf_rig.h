// Runs the BPF table walk on this program: functions that launch, and the expected stacks.
#pragma once

#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.h"
#include "record/bpf/stack_engine.h"
#include "symbolize/process_maps.h"

extern "C" void gpuprof_launch_probe(uint64_t correlation, uint32_t source, uint32_t range, const void* python);

namespace gpuprof::test {

using record::BpfWalk;
using record::LaunchStack;
using record::StackEngine;

struct Stack {
  std::vector<uint64_t> words;
  uint32_t flags = 0;
};

struct Code {
  std::string name;
  std::string file;
  uint32_t first_line = 0;
  size_t line_table_bytes = 0;
};

struct Sink final : record::StackSink {
  void on_stack(uint64_t stack, uint32_t, std::span<const uint64_t> words, uint32_t flags, uint64_t) override {
    stacks[stack] = {{words.begin(), words.end()}, flags};
  }
  void on_process_code(uint32_t, const backend::PythonCode& code) override {
    codes[code.id] = {std::string(code.name), std::string(code.file), code.first_line, code.line_table.size()};
  }
  void on_thread(uint32_t, uint32_t, std::string_view name) override { threads.emplace_back(name); }
  void on_loader(uint32_t pid) override { loaders.push_back(pid); }
  void on_launch_stack(const LaunchStack& launch) override { launches[launch.correlation] = launch.stack; }
  void on_counted_launch(uint32_t, const LaunchStack&) override {}
  [[nodiscard]] const Stack& stack_of(uint64_t correlation) const { return stacks.at(launches.at(correlation)); }

  std::map<uint64_t, Stack> stacks;
  std::map<uint32_t, Code> codes;
  std::vector<std::string> threads;  // names, in the order of their events
  std::map<uint64_t, uint64_t> launches;
  std::vector<uint32_t> loaders;  // pids of processes that have loaded a library
};

// The stack that backtrace() returns at each launch: innermost first, beginning with the caller of launch().
constexpr int kMaxDepth = 8192;
inline std::map<uint64_t, std::vector<uint64_t>> expected;  // keyed by correlation id
inline uint64_t last_correlation = 0;
inline const void* python_thread = nullptr;

__attribute__((noinline)) inline void launch() {
  static void* addresses[kMaxDepth];
  const int count = backtrace(addresses, kMaxDepth);
  std::vector<uint64_t>& stack = expected[++last_correlation];
  for (int i = 1; i < count; ++i) {
    stack.push_back(reinterpret_cast<uint64_t>(addresses[i]));
  }
  gpuprof_launch_probe(last_correlation, 1, 0, python_thread);
  asm volatile("");
}

// Calls itself `depth` times, with frames whose sizes and kinds depend on the bits of `shape`.
__attribute__((noinline)) inline int descend(int depth, unsigned shape, void (*then)()) {
  volatile char frame[24];
  frame[0] = static_cast<char>(depth);
  if (depth <= 0) {
    then();
    return frame[0];
  }
  const unsigned next = shape * 1103515245U + 12345U;
  if ((shape & 0x10000U) != 0) {
    auto* more = static_cast<volatile char*>(__builtin_alloca(16 + (shape & 0xF8U)));
    more[0] = 1;
    return descend(depth - 1, next, then) + more[0];
  }
  if ((shape & 0x20000U) != 0) {
    alignas(64) volatile char aligned[64];
    aligned[0] = 2;
    return descend(depth - 1, next, then) + aligned[0];
  }
  return descend(depth - 1, next, then) + frame[0];
}

// Returns an engine attached to this program, with its mappings. If this kernel or user cannot walk by tables, prints
// the reason and returns null.
inline std::unique_ptr<StackEngine> engine_or_skip() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  std::cerr << "skipped: sanitizers add frames of their own to those of backtrace()\n";
  return nullptr;
#endif
  auto engine = record::make_bpf_engine(BpfWalk::tables);
  if (!engine) {
    std::cerr << "skipped: " << engine.error().message << "\n";
    return nullptr;
  }
  static bool told = false;
  if (!std::exchange(told, true)) {
    std::cerr << "engine: " << (*engine)->name() << " note: " << (*engine)->note() << "\n";
  }
  if ((*engine)->name() != "bpf") {
    std::cerr << "skipped: " << (*engine)->note() << "\n";
    return nullptr;
  }
  REQUIRE((*engine)->attach_library("/proc/self/exe").ok());
  symbolize::ProcessMaps maps(static_cast<uint32_t>(::getpid()), symbolize::make_file_cache());
  REQUIRE(maps.refresh());
  (*engine)->on_process(maps);
  expected.clear();
  last_correlation = 0;
  python_thread = nullptr;
  return std::move(*engine);
}

inline bool can_wait_for_pages(const StackEngine& engine) {
  return engine.note().empty();
}

// Compares all words but the two innermost ones (the probe and launch()), where backtrace() sees other instructions.
inline bool matches(const Stack& stack, const std::vector<uint64_t>& truth) {
  if (stack.words.size() != truth.size() + 2 || stack.flags != 0) {
    return false;
  }
  return std::equal(truth.begin(), truth.end(), stack.words.begin() + 2,
                    [](uint64_t address, uint64_t word) { return address == (word & GPUPROF_WORD_ADDRESS); });
}

inline size_t count_wrong(const Sink& sink) {
  return static_cast<size_t>(std::count_if(expected.begin(), expected.end(), [&](const auto& entry) {
    return !sink.launches.contains(entry.first) || !matches(sink.stack_of(entry.first), entry.second);
  }));
}

}  // namespace gpuprof::test
