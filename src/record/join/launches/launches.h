// Stores launches, blocking calls and created graph nodes until their work arrives. The key is (source, correlation
// id).
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/join/context/context.h"
#include "record/join/context/work_event.h"
#include "record/join/launches/graph_nodes.h"
#include "record/join/launches/launch_table.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class Launches {
 public:
  // A graph launch is kept this long after its latest work, because no record marks its last work.
  static constexpr uint64_t kKeepGraphNs = 10'000'000'000;

  explicit Launches(JoinContext& join) : join_(join) {}

  // Returns whether the id belongs to a launch. Other ids belong to blocking calls or graph nodes.
  static bool is_launch(uint64_t correlation);

  void add(backend::SourceId source, uint64_t correlation, const PendingLaunch& call);
  void on_graph_node(backend::SourceId source, const backend::GraphNode& node);

  // Returns the call that an event belongs to, or null if the call is unknown or has not arrived.
  [[nodiscard]] PendingLaunch* find(const LaunchSite& site);
  [[nodiscard]] PendingLaunch* find(backend::SourceId source, uint64_t correlation);
  // Returns whether the site's launch is older than all launches of its source. Only true for the process of record -p:
  // it made the launch before gpuprof was attached.
  [[nodiscard]] bool is_before_attach(const Source& source, const LaunchSite& site) const;
  // Returns whether an unknown call may still arrive. Samples can arrive before their launch, and then wait for it.
  [[nodiscard]] bool may_come(const Source& source, const LaunchSite& site) const;

  // The next four functions look up or name the graph node of `site`. `launch` may be null.
  [[nodiscard]] bool knows_node(const LaunchSite& site) const;
  [[nodiscard]] uint64_t capture_stack(const LaunchSite& site, const PendingLaunch* launch) const;
  [[nodiscard]] uint32_t name_id(const LaunchSite& site, const PendingLaunch* launch) const;
  void named(const LaunchSite& site, const PendingLaunch* launch);

  // Counts the launch of a processed event once. Keeps the launch if more of its work may arrive.
  void match(const Source& source, const WorkEvent& event, PendingLaunch* launch);
  // Counts a graph launch as matched: it has GPU work, even if that work cannot be attributed to it.
  void match(backend::SourceId source, const backend::GraphLaunch& launch);

  // Call it in each poll iteration, before pending work is retried. `last`: the recording or source ends.
  void retry_pending(bool last);
  // Call it in each poll iteration, after pending work was retried.
  void expire();
  void end_source(backend::SourceId source);

  // Returns correlation id and time of each launch whose work has not arrived.
  [[nodiscard]] std::vector<std::pair<uint64_t, uint64_t>> waiting(backend::SourceId source) const;

  // Returns the time of the oldest launch that may still get work.
  [[nodiscard]] uint64_t oldest_waiting() const { return launches_.calls.oldest_waiting(join_.now_ns); }

 private:
  struct Table {
    explicit Table(MemoryBudget* memory) : calls(memory) {}
    LaunchTable calls;
    bool used = false;  // a call has arrived before, so an event should wait if its call is missing
  };
  struct Captured {
    backend::SourceId source = 0;
    uint64_t correlation = 0;
    unsigned retries = 0;
  };

  [[nodiscard]] uint64_t keep_ns(const Source& source, const WorkEvent& event) const;
  Table& table_of(uint64_t correlation);
  [[nodiscard]] const Table& table_of(uint64_t correlation) const;

  JoinContext& join_;
  Table launches_{&join_.memory()};
  Table host_calls_{&join_.memory()};  // not in launches_, because Occupancy waits for the oldest launch
  GraphNodes nodes_{&join_.memory()};
  std::unordered_map<backend::SourceId, uint64_t> oldest_;  // smallest correlation id; with record -p
  std::vector<Captured> captured_;  // launches captured into a graph, whose own record has not arrived
};

}  // namespace gpuprof::record
