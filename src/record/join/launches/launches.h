// Stores launches, blocking calls and created graph nodes until their work arrives. The key consists of the source and
// the correlation id.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "backend/event_sink.h"
#include "record/join/context/context.h"
#include "record/join/context/windows.h"
#include "record/join/context/work_event.h"
#include "record/join/launches/graph_nodes.h"
#include "record/join/launches/launch_table.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class Launches {
 public:
  // A graph launch is kept for this time after its latest work, because no record marks its last work.
  static constexpr uint64_t kKeepGraphNs = 10'000'000'000;

  Launches(JoinContext& join, const Windows& windows) : join_(join), windows_(windows) {}

  static bool is_launch(uint64_t correlation);

  void add(backend::SourceId source, uint64_t correlation, const PendingLaunch& call);
  void on_graph_node(backend::SourceId source, const backend::GraphNode& node);

  // Returns the call that the event belongs to. Returns null if the call is unknown or has not arrived.
  [[nodiscard]] PendingLaunch* find(const LaunchSite& site);
  [[nodiscard]] PendingLaunch* find(backend::SourceId source, uint64_t correlation);
  // Returns whether the site's launch is older than all launches that its source has reported. This can be true only
  // for an attached process, which made the launch before gpuprof was attached.
  [[nodiscard]] bool is_before_attach(const Source& source, const LaunchSite& site) const;
  // Returns whether the site's launch is older than all launches that its source has reported from the window that
  // contains `start_ns`. Then the work was launched while recording was off.
  [[nodiscard]] bool is_before_window(const LaunchSite& site, uint64_t start_ns) const;
  // Returns whether the call may still arrive if it is unknown. A sample can arrive before its launch, and then waits
  // for it.
  [[nodiscard]] bool may_come(const Source& source, const LaunchSite& site) const;

  // The next five functions concern the graph node of `site`. `launch` may be null.
  [[nodiscard]] bool knows_node(const LaunchSite& site) const;
  [[nodiscard]] uint64_t capture_stack(const LaunchSite& site, const PendingLaunch* launch) const;
  [[nodiscard]] uint32_t name_id(const LaunchSite& site, const PendingLaunch* launch) const;
  void named(const LaunchSite& site, const PendingLaunch* launch);
  // Returns whether the name and the stack of the node are the same for all launches.
  [[nodiscard]] bool is_steady(const LaunchSite& site) const {
    return site.graph_node != 0 && nodes_.is_steady(site.source, site.graph_node);
  }

  // Counts the launch of an event that has been processed, once. Keeps the launch if more of its work may arrive.
  void match(const Source& source, const WorkEvent& event, PendingLaunch* launch);
  // Counts a graph launch as matched. It has GPU work, even if that work cannot be attributed to this launch.
  void match(backend::SourceId source, const backend::GraphLaunch& launch);

  // Call it in each poll iteration, before pending work is retried. `last`: the recording or the source ends.
  void retry_pending(bool last);
  // Call it in each poll iteration, after pending work has been retried.
  void expire();
  void end_source(backend::SourceId source);

  // Returns the launches of the source (0: of all sources) whose work has not arrived.
  [[nodiscard]] std::vector<LaunchTable::Waiting> waiting(backend::SourceId source) const;

  // Returns the time of the oldest launch that may still get work.
  [[nodiscard]] uint64_t oldest_waiting() const { return launches_.calls.oldest_waiting(join_.now_ns); }

 private:
  struct Table {
    explicit Table(MemoryBudget* memory) : calls(memory) {}
    LaunchTable calls;
    // True if a call has arrived before. Then an event whose call is missing should wait.
    bool used = false;
  };
  // The smallest correlation id of a source in a window. Later launches have larger ids.
  struct First {
    const uint64_t window_ns;
    uint64_t correlation;
  };
  struct Captured {
    backend::SourceId source = 0;
    uint64_t correlation = 0;
    unsigned retries = 0;
  };

  void count_launch(const Source& source, const WorkEvent& event, bool is_orphan);
  [[nodiscard]] uint64_t keep_ns(const LaunchSite& site) const;
  [[nodiscard]] uint64_t keep_ns(const Source& source, const WorkEvent& event) const;
  Table& table_of(uint64_t correlation);
  [[nodiscard]] const Table& table_of(uint64_t correlation) const;

  void note_first(backend::SourceId source, uint64_t correlation, uint64_t time_ns);

  JoinContext& join_;
  const Windows& windows_;
  Table launches_{&join_.memory()};
  Table host_calls_{&join_.memory()};  // separate, because Occupancy waits for the oldest call in launches_
  GraphNodes nodes_{&join_.memory()};
  // In the order of the windows. Empty if recording began with the target and was never off.
  std::unordered_map<backend::SourceId, std::vector<First>> first_;
  // Launches that were captured into a graph and whose own record has not arrived.
  std::vector<Captured> captured_;
};

}  // namespace gpuprof::record
