// Which launch of an executable graph some work belongs to, where the vendor's library does not say: CUPTI gives the
// kernels in the bodies of conditional nodes without their launch's correlation id. An executable graph runs its
// launches one after the other, in the order of the calls, and a stream runs what was put on it one after the other.
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
  static constexpr size_t kMaxOfOne = 1024;        // launches of one graph, or stream; older ones are forgotten
  static constexpr size_t kMaxLaunches = 200'000;  // of all; what later ones ran is not known
  static constexpr size_t kMaxStreams = 4096;      // beyond it, what streams told of launches starts anew
  static constexpr uint64_t kKeepNs =
      60'000'000'000;  // a graph that was not launched for so long, when there are too many
  static constexpr uint64_t kClockSlackNs =
      20'000;  // by which work may seem to start before its call, where no other launch fits

  // What a launch's work is charged to. Launches that agree in it need not be told apart.
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
    uint64_t first_ns = UINT64_MAX;  // the earliest start of work that is known to be its own
    uint64_t not_before_ns = 0;      // work that was put on its stream before it started then
    uint64_t over_ns = UINT64_MAX;   // work that was put on its stream after it started then
    Origin origin;                   // as the caller finds it
    bool matched = false;            // some work has been found to be its own
  };

  explicit GraphLaunches(MemoryBudget* memory = nullptr) : memory_(memory) {}

  void add(backend::SourceId source, const backend::GraphLaunch& launch);

  // Work whose launch is known has run.
  void ran(const backend::GpuOp& op);

  // The launches of `op.exec` that the work can belong to, oldest first, as far as is known now. Valid until the next
  // call of add() or end_source().
  [[nodiscard]] std::span<GraphRun> candidates(const backend::GpuOp& op);

  // The one of several candidates that it is if it starts between the first work of the one and that of the next.
  // Null: nothing tells them apart.
  [[nodiscard]] GraphRun* by_order(const backend::GpuOp& op, std::span<GraphRun> candidates) const;

  void end_source(backend::SourceId source);

 private:
  using Key = OwnedId;  // of an executable graph, a stream, or a launch
  struct Graph {
    std::vector<GraphRun> launches;  // in the order of the calls
    bool body_first = false;         // work of its bodies has been seen to start before all other work of its launch
    uint64_t gap_ns = UINT64_MAX;    // the first launch that was not taken; what has run since may be its work
  };
  [[nodiscard]] GraphRun* find(backend::SourceId source, uint64_t correlation);
  [[nodiscard]] static std::span<GraphRun> called_before(std::vector<GraphRun>& launches, uint64_t start_ns,
                                                         uint64_t called_ns);
  [[nodiscard]] bool is_full() const { return launches_ >= kMaxLaunches || MemoryBudget::limits(memory_); }
  void insert(backend::SourceId source, const GraphRun& launch);
  void forget_idle(uint64_t now_ns);

  MemoryBudget* memory_;
  std::unordered_map<Key, Graph, OwnedIdHash> graphs_;
  std::unordered_map<Key, uint32_t, OwnedIdHash> execs_;                 // of launches
  std::unordered_map<Key, std::vector<uint64_t>, OwnedIdHash> streams_;  // ids of the launches on them, in order
  size_t launches_ = 0;                                                  // of all graphs
  uint64_t looked_ns_ = 0;                                               // for idle graphs
};

}  // namespace gpuprof::record
