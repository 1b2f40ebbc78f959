// Finds the launch of work in bodies of conditional nodes. CUPTI reports such work with the executable graph, but
// without a correlation id. Executable graphs and streams run their launches one after the other, in call order.
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
  static constexpr size_t kMaxOfOne = 1024;        // launches of one graph or stream; older ones are removed
  static constexpr size_t kMaxLaunches = 200'000;  // in all graphs; further launches are not stored, and get no work
  static constexpr size_t kMaxStreams = 4096;      // above this, the launch order of all streams is discarded
  static constexpr uint64_t kKeepNs = 60'000'000'000;  // in a full table, graphs not launched for so long are dropped
  static constexpr uint64_t kClockSlackNs = 20'000;  // clocks differ: work may seem to start this much before its call

  // Thread, range and stack to which the work of a launch is attributed. Launches with equal origins are equivalent.
  struct Origin {
    enum class Kind : uint8_t { unknown, recorded, unsampled, outside };
    Kind kind = Kind::unknown;
    uint32_t tid = 0;
    uint32_t range = 0;
    uint64_t stack = 0;
    bool operator==(const Origin&) const = default;
  };
  struct GraphRun {
    backend::GraphLaunch call;
    uint64_t first_ns = UINT64_MAX;  // earliest start of work known to belong to this launch
    uint64_t not_before_ns = 0;      // its work starts at or after this, because earlier work of its stream ran then
    uint64_t over_ns = UINT64_MAX;   // its work ends before this, because later work of its stream ran then
    Origin origin;                   // set by GraphBodies
    bool matched = false;            // some work belongs to this launch, or may belong to it
  };

  explicit GraphLaunches(MemoryBudget* memory = nullptr) : memory_(memory) {}

  void add(backend::SourceId source, const backend::GraphLaunch& launch);

  // Uses work with a known launch to bound the times of launches.
  void ran(const backend::GpuOp& op);

  // Returns the possible launches of the work, oldest first. Valid until the next add(), ran() or end_source().
  [[nodiscard]] std::span<GraphRun> candidates(const backend::GpuOp& op);

  // Chooses between two candidates if the work starts when one of them has begun and the other has not. Else: null.
  [[nodiscard]] GraphRun* by_order(const backend::GpuOp& op, std::span<GraphRun> candidates) const;

  void end_source(backend::SourceId source);

 private:
  using Key = OwnedId;  // id of an executable graph, a stream or a launch
  struct Graph {
    std::vector<GraphRun> launches;  // in call order
    bool body_first = false;         // in some launch, work of a conditional node ran before all other work
    uint64_t gap_ns = UINT64_MAX;  // time of the first launch that was not stored; later work may belong to that launch
  };
  [[nodiscard]] GraphRun* find(backend::SourceId source, uint64_t correlation);
  [[nodiscard]] static std::span<GraphRun> called_before(std::vector<GraphRun>& launches, uint64_t start_ns,
                                                         uint64_t called_ns);
  [[nodiscard]] bool is_full() const { return launches_ >= kMaxLaunches || MemoryBudget::limits(memory_); }
  void insert(backend::SourceId source, const GraphRun& launch);
  void forget_idle(uint64_t now_ns);

  MemoryBudget* memory_;
  std::unordered_map<Key, Graph, OwnedIdHash> graphs_;
  std::unordered_map<Key, uint32_t, OwnedIdHash> execs_;  // launch to executable graph
  // Key: stream. Value: the correlation ids of its launches, in call order.
  std::unordered_map<Key, std::vector<uint64_t>, OwnedIdHash> streams_;
  size_t launches_ = 0;     // launches of all graphs
  uint64_t looked_ns_ = 0;  // time of the last search for idle graphs
};

}  // namespace gpuprof::record
