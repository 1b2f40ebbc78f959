// Calls that wait for what they caused: launches, blocking calls, and the calls that made the nodes of graphs. Work
// finds its call by (source, correlation id) and nothing else.
#pragma once

#include <array>
#include <cstdint>
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
  static constexpr uint64_t kKeepGraphNs =
      10'000'000'000;  // a graph launch has no last piece of work: since the latest

  explicit Launches(JoinContext& join) : join_(join) {}

  // Whether the id is a launch's: else it is another call whose stack is wanted.
  static bool is_launch(uint64_t correlation);

  void add(backend::SourceId source, uint64_t correlation, const PendingLaunch& call);
  void on_graph_node(backend::SourceId source, const backend::GraphNode& node);

  // The call that an event belongs to; null: it is not known (yet).
  [[nodiscard]] PendingLaunch* find(const LaunchSite& site);
  [[nodiscard]] PendingLaunch* find(backend::SourceId source, uint64_t correlation);
  // Whether the call of an event that find() knows nothing of may still come. Samples come before their launch or after
  // its work: in a source that takes them they wait for the launch, or it for them.
  [[nodiscard]] bool may_come(const Source& source, const LaunchSite& site) const;

  // What is known of the node of a graph whose work the event is. `launch` may be null.
  [[nodiscard]] bool knows_node(const LaunchSite& site) const;
  [[nodiscard]] uint64_t capture_stack(const LaunchSite& site, const PendingLaunch* launch) const;
  [[nodiscard]] uint32_t name_id(const LaunchSite& site, const PendingLaunch* launch) const;
  void named(const LaunchSite& site, const PendingLaunch* launch);

  // The event has been taken: counts its launch once, and keeps it where more work may come of it.
  void match(const Source& source, const WorkEvent& event, PendingLaunch* launch);
  // A launch has GPU work, though perhaps nobody knows whether this is its own.
  void match(backend::SourceId source, const backend::GraphLaunch& launch);

  // After each turn of the drain: before work is tried again, ...
  void settle(bool last);
  // ... and after it.
  void expire();
  void end_source(backend::SourceId source);

  // Time of the oldest launch that may still get work.
  [[nodiscard]] uint64_t oldest_waiting() const { return launches_.calls.oldest_waiting(join_.now_ns); }

 private:
  struct Table {
    explicit Table(MemoryBudget* memory) : calls(memory) {}
    LaunchTable calls;
    bool used = false;  // an event without a call is worth a wait
  };
  struct Captured {
    backend::SourceId source = 0;
    uint64_t correlation = 0;
    unsigned turns = 0;
  };

  [[nodiscard]] uint64_t keep_ns(const Source& source, const WorkEvent& event) const;
  Table& table_of(uint64_t correlation);
  [[nodiscard]] const Table& table_of(uint64_t correlation) const;

  JoinContext& join_;
  Table launches_{&join_.memory()};
  Table host_calls_{&join_.memory()};  // apart, as they must not hold back the sweep over GPU work
  GraphNodes nodes_{&join_.memory()};
  std::vector<Captured> captured_;  // launches that run nothing themselves, and have not been told of
};

}  // namespace gpuprof::record
