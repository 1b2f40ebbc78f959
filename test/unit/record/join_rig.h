// A correlator with a clock that the test sets. Tests call it with records in the same way as the recorder's drain
// thread.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/process/process_guard.h"
#include "record/join/correlator.h"
#include "wire/wire.h"

namespace gpuprof::test {

inline const uint32_t kPid = static_cast<uint32_t>(::getpid());
inline const uint64_t kStack[] = {0x1000, 0x2000};
inline uint64_t fake_now_ns = 0;
inline uint64_t fake_clock() {
  return fake_now_ns;
}

struct Rig {
  explicit Rig(record::JoinOptions options = {}) : correlator(with_defaults(std::move(options))) {
    correlator.open_window(1000);
    open(1);
  }

  static record::JoinOptions with_defaults(record::JoinOptions options) {
    fake_now_ns = 1'000'000;
    options.start_ns = 1000;
    options.grid = {.interval_ns = 1'000'000};
    options.counted_functions = {"f"};
    options.clock = fake_clock;
    return options;
  }

  // Opens a source with device 0 and the names 1 "k", 2 "cudaStreamSynchronize".
  void open(uint32_t source, uint32_t pid = kPid) {
    if (auto guard = ProcessGuard::of_process(static_cast<pid_t>(pid))) {
      correlator.on_process(pid, std::make_shared<ProcessGuard>(std::move(*guard)));
    }
    correlator.on_source(source, pid, "mock" + std::to_string(source));
    correlator.on_name(source, 1, "k");
    correlator.on_name(source, 2, "cudaStreamSynchronize");
    correlator.on_device(source, 0, 0, 0);
  }

  void stack(uint64_t id) { stack(id, kStack); }
  void stack(uint64_t id, std::span<const uint64_t> words, uint32_t flags = 0) {
    mention(id);
    correlator.on_stack(id, kPid, words, flags, 0);
  }

  void launch(uint64_t correlation, uint64_t stack_id, uint64_t time_ns = 5000, uint32_t range = 0) {
    mention(stack_id);
    correlator.on_launch_stack({.source = 1,
                                .correlation = correlation,
                                .stack = stack_id,
                                .time_ns = time_ns,
                                .pid = kPid,
                                .tid = 5,
                                .range = range});
  }

  static backend::GpuOp kernel(uint64_t correlation, uint64_t duration = 10, uint64_t end = 10'000) {
    backend::GpuOp op;
    op.source = 1;
    op.correlation = correlation;
    op.start_ns = end - duration;
    op.end_ns = end;
    op.name_id = 1;
    return op;
  }

  void iterate(int count) {
    for (int i = 0; i < count; ++i) {
      correlator.end_iteration();
    }
  }

  // Returns everything since the last call as a batch, and stores the key of each new work item in `works`.
  record::Batch take() {
    record::Batch batch = correlator.take_batch();
    for (const record::NewWork& work : batch.works) {
      works[work.id] = work.key;
      works[work.id].stack = told(work.key.stack);
      works[work.id].capture = told(work.key.capture);
    }
    for (const record::NewName& name : batch.names) {
      names[name.index] = name.text;
    }
    return batch;
  }

  const record::WorkKey& work(const record::Batch& batch, size_t row = 0) {
    return works.at(batch.rows.at(row).first.work);
  }

  std::vector<std::pair<record::WorkKey, record::RowValue>> rows(const record::Batch& batch, profile::Op op) {
    std::vector<std::pair<record::WorkKey, record::RowValue>> found;
    for (const auto& [key, value] : batch.rows) {
      if (works.at(key.work).op == op) {
        found.emplace_back(works.at(key.work), value);
      }
    }
    return found;
  }

  // Maps the correlator's stack numbers, which follow the order of first use, to the engine's ids that tests use.
  void mention(uint64_t id) {
    if (id != 0 && std::find(mentioned.begin(), mentioned.end(), id) == mentioned.end()) {
      mentioned.push_back(id);
    }
  }
  [[nodiscard]] uint64_t told(uint64_t number) const {
    return number == 0 || number > mentioned.size() ? number : mentioned[number - 1];
  }

  record::Correlator correlator;
  std::vector<uint64_t> mentioned;
  std::map<profile::WorkId, record::WorkKey> works;
  std::map<record::NameIndex, std::string> names;
};

inline uint64_t sum_ns(const record::Batch& batch) {
  uint64_t sum = 0;
  for (const auto& [key, value] : batch.rows) {
    sum += value.sum_ns;
  }
  return sum;
}

inline std::map<std::string, uint64_t> coverage(const record::Batch& batch) {
  std::map<std::string, uint64_t> sums;
  for (const profile::Coverage& one : batch.coverage) {
    sums[std::string(one.what)] += one.count;
  }
  return sums;
}

}  // namespace gpuprof::test
