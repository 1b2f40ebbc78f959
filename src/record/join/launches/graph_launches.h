// Finds the launch of work in bodies of conditional nodes. CUPTI reports such work with the executable graph, but
// without a correlation id. The search relies on this: executable graphs and streams run their launches one after the
// other, in call order.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "backend/event_sink.h"
#include "record/join/context/owned_id.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

class GraphLaunches {
 public:
  // Limit on the launches of one graph or stream. Older launches are removed.
  static constexpr size_t kMaxOfOne = 1024;
  // Limit on the launches of all graphs. Further launches are not stored, and get no work.
  static constexpr size_t kMaxLaunches = 200'000;
  // If there are more streams, the launch order of all streams is discarded.
  static constexpr size_t kMaxStreams = 4096;
  // When the table is full, graphs that were not launched for this time are removed.
  static constexpr uint64_t kKeepNs = 60'000'000'000;
  // Work may seem to start up to this time before its call, because the clocks of CPU and GPU differ.
  static constexpr uint64_t kClockSlackNs = 20'000;

  // The data that a launch gives to its work: thread, range and stack. Launches with equal origins are equivalent.
  struct Origin {
    enum class Kind : uint8_t { unknown, recorded, outside };
    Kind kind = Kind::unknown;
    uint32_t tid = 0;
    uint32_t range = 0;
    uint64_t stack = 0;
    bool operator==(const Origin&) const = default;
  };
  struct GraphRun {
    backend::GraphLaunch call;
    // Earliest start of the work that is known to belong to this launch.
    uint64_t first_ns = UINT64_MAX;
    // Earlier work of the stream still ran at this time, so the work of this launch starts at or after it.
    uint64_t not_before_ns = 0;
    // Later work of the stream already ran at this time, so the work of this launch ends before it.
    uint64_t over_ns = UINT64_MAX;
    Origin origin;
    bool matched = false;  // true: some work belongs, or may belong, to this launch
  };

  explicit GraphLaunches(MemoryBudget* memory = nullptr) : memory_(memory) {}

  void add(backend::SourceId source, const backend::GraphLaunch& launch);

  // Uses work whose launch is known to narrow the times at which launches ran.
  void ran(const backend::GpuOp& op);

  // Returns the launches to which the work may belong, oldest first. Valid until the next call of add(), ran() or
  // end_source().
  [[nodiscard]] std::span<GraphRun> candidates(const backend::GpuOp& op);

  // Chooses between two candidates if only one of them has begun when the work starts. Otherwise returns null.
  [[nodiscard]] GraphRun* by_order(const backend::GpuOp& op, std::span<GraphRun> candidates) const;

  void end_source(backend::SourceId source);

 private:
  using Key = OwnedId;
  struct Graph {
    std::vector<GraphRun> launches;  // in call order
    // True if, in some launch, work of a conditional node ran before all other work.
    bool body_first = false;
    // Time of the first launch that was not stored. Later work may belong to that launch.
    uint64_t gap_ns = UINT64_MAX;
  };
  [[nodiscard]] GraphRun* find(backend::SourceId source, uint64_t correlation);
  [[nodiscard]] static std::span<GraphRun> called_before(std::vector<GraphRun>& launches, uint64_t start_ns,
                                                         uint64_t called_ns);
  [[nodiscard]] bool is_full() const { return launches_ >= kMaxLaunches || MemoryBudget::limits(memory_); }
  void insert(backend::SourceId source, const GraphRun& launch);
  void forget_idle(uint64_t now_ns);

  MemoryBudget* memory_;
  std::unordered_map<Key, Graph, OwnedIdHash> graphs_;
  std::unordered_map<Key, uint32_t, OwnedIdHash> execs_;
  // Maps a stream to the correlation ids of its launches, in call order.
  std::unordered_map<Key, std::vector<uint64_t>, OwnedIdHash> streams_;
  size_t launches_ = 0;
  uint64_t looked_ns_ = 0;
};

}  // namespace gpuprof::record
