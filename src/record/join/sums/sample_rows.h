// Sums up samples. There is one count for each combination of slice, work, location, reason, sampling and flags.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/batch.h"
#include "record/join/context/context.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class SampleRows {
 public:
  static constexpr size_t kMaxRows = 1'000'000;  // rows per batch; further samples keep only their work
  static constexpr size_t kMaxSamplings = 4096;  // per session; further samples have no period

  SampleRows(JoinContext& join, NameTable& names) : join_(join), names_(names) {}

  // Returns whether `count` more samples fit into the sum of all samples. If they do not fit, counts one loss.
  [[nodiscard]] bool admit(const Source* source, uint64_t count);
  // `source` is null if the source has ended.
  void drop(const Source* source, uint64_t count);

  profile::SamplingId sampling(uint64_t period, backend::SamplingUnit unit);
  // Adds samples for which admit() has returned true. Sets `key.slice` from `at_ns`. `has_stack`: whether their work
  // has a stack.
  void add(SampleKey key, uint64_t at_ns, uint64_t count, bool has_stack);

  [[nodiscard]] size_t size() const { return rows_.size(); }
  void take_new(Batch& batch);

 private:
  struct Hash {
    size_t operator()(const SampleKey& key) const;
  };
  [[nodiscard]] SampleKey bounded(const SampleKey& key) const;

  JoinContext& join_;
  NameTable& names_;
  std::unordered_map<SampleKey, uint64_t, Hash> rows_;
  uint64_t batch_slice_ = 0;  // the slice in which the present batch began
  // Number of samples, including dropped ones. It must fit into 64 bits.
  uint64_t seen_ = 0;
  std::unordered_map<uint64_t, profile::SamplingId> cycles_;  // sampling ids by period in cycles
  std::unordered_map<uint64_t, profile::SamplingId> ns_;
  std::vector<profile::Sampling> new_samplings_;
};

}  // namespace gpuprof::record
