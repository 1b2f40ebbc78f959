// Sums up instruction counts by process, device and location. The counts have no correlation ids, and wait for their
// GPU code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "backend/event_sink.h"
#include "record/join/context/context.h"
#include "record/join/samples/sampled_code.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class InstructionCounts {
 public:
  // Limit on waiting counts, and on the counts of a batch. Further counts are dropped.
  static constexpr size_t kMaxCounts = 1'000'000;

  InstructionCounts(JoinContext& join, Producers& producers, SampledCode& places)
      : join_(join), producers_(producers), places_(places) {}

  void on_count(const Source& source, const backend::PlaceCount& count);

  // See WorkJoin::retry_pending().
  void retry_pending(bool last, backend::SourceId only = 0);

  void take_new(Batch& batch);
  [[nodiscard]] size_t kept() const { return kept_; }  // (location, counted metric) pairs since the start

 private:
  // source, module, function, offset, device, metric
  using Key = std::tuple<backend::SourceId, uint64_t, uint32_t, uint64_t, uint32_t, uint32_t>;
  struct Waiting {
    uint64_t since_ns = 0;
    uint64_t value = 0;
  };
  bool take(const Key& key, const Waiting& waiting, bool last);
  void add(const CountKey& key, uint64_t value);
  void drop();

  JoinContext& join_;
  Producers& producers_;
  SampledCode& places_;
  std::map<Key, Waiting> waiting_;
  std::map<CountKey, uint64_t> new_;
  size_t kept_ = 0;
};

}  // namespace gpuprof::record
