// Sums up the work of a recording: rows by work and slice, events, latencies, and the apportioned time of devices.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/recent_map.h"
#include "record/batch.h"
#include "record/join/context/context.h"
#include "record/join/context/windows.h"
#include "record/join/context/work_event.h"
#include "record/join/sums/latencies.h"
#include "record/join/sums/occupancy.h"
#include "record/join/sums/work_set.h"

namespace gpuprof::record {

class Rows {
 public:
  Rows(JoinContext& join, const Windows& windows);

  // Adds the event to the sums of the whole recording, which must fit into a profile. Returns false if a sum would
  // overflow.
  [[nodiscard]] bool admit(const WorkEvent& event);
  // Returns the id of the work. May clear the stacks of `key` (see WorkSet).
  profile::WorkId intern(WorkKey& key);
  // `pid` is the process of the work. `call_ns` is the time of its launch, or 0 if unknown.
  void add(const WorkEvent& event, const WorkKey& key, profile::WorkId work, uint32_t pid, uint64_t call_ns);
  // Adds the thread blocks of an event that has been added.
  void add_blocks(const WorkEvent& event, profile::WorkId work, const profile::BlockTotals& launch);
  void add_launch(profile::WorkId work, uint64_t ns) { ++row(ns, work).count; }

  // In this time, the thread of `key` did not run, for `recorded_ns` of it while the recording was on.
  void add_off_cpu(WorkKey& key, uint32_t pid, uint64_t start_ns, uint64_t end_ns, uint64_t recorded_ns);
  // From `since` on, all times in which the thread of `key` does not run are added.
  void set_exact(const WorkKey& key, uint32_t pid, uint64_t since);
  void lose_exact(uint64_t until) { occupancy_.lose_exact(until); }
  void add_poll(uint32_t pid, uint32_t tid, const Occupancy::Poll& poll);

  // Call it after each poll iteration.
  void end_iteration();
  // Apportions device time up to some seconds ago, but only up to the oldest launch whose work has not arrived.
  void sweep(uint64_t oldest_waiting);
  // Lets sweep() advance to `ns` without its usual delay, because all work that ended before has arrived. Ignored if
  // other work may still run that no waiting launch announces: a graph's next nodes, or work of unknown launches.
  void sweep_early(uint64_t ns) { early_ns_ = ns; }
  uint64_t take_longest_gap() { return occupancy_.take_longest_gap(swept_ns_); }
  // Ends the recording. Add all work before this call.
  void finish();
  void end_image(profile::ProcessId image);

  void take_new(Batch& batch);
  [[nodiscard]] size_t waiting() const { return rows_.size() + blocks_.size() + latencies_.size() + events_.size(); }
  [[nodiscard]] SampledIdle::Totals sampled_idle() const { return occupancy_.sampled(); }
  // Returns the GPU time that was not apportioned, because records came too late (see Occupancy) or have times in the
  // future.
  [[nodiscard]] uint64_t late_ns() const { return occupancy_.late_ns() + ahead_ns_; }

 private:
  struct KeyHash {
    size_t operator()(const RowKey& key) const { return hash_of(key.slice << 32U ^ profile::index(key.work)); }
  };
  struct Sums {
    uint64_t ns = 0;
    uint64_t bytes = 0;
    uint64_t count = 0;
  };

  [[nodiscard]] static uint64_t time_of(const WorkEvent& event) {
    return event.slice_ns != 0 ? event.slice_ns : event.end_ns;
  }
  RowValue& row(uint64_t ns, profile::WorkId work);
  void add_duration(uint64_t ns, uint64_t weight, RowValue& value) const;
  void add_queue_time(const WorkEvent& event, RowValue& value);
  void share_time(const WorkEvent& event, const WorkKey& key, profile::WorkId work, uint32_t pid);
  profile::WorkId unexplained(const WorkKey& key);
  void add_event(const WorkEvent& event, profile::WorkId work);

  JoinContext& join_;
  RecentMap<std::unordered_map<profile::ProcessId, WorkSet>> works_;
  uint32_t next_work_ = 1;
  std::vector<NewWork> new_works_;
  std::unordered_map<RowKey, RowValue, KeyHash> rows_;
  uint64_t batch_slice_ = 0;  // the slice in which the present batch began
  std::vector<profile::Event> events_;
  std::unordered_map<RowKey, profile::BlockTotals, KeyHash> blocks_;
  profile::BlockTotals all_blocks_;  // all blocks since the start of the recording
  Latencies latencies_;
  Occupancy occupancy_;
  Sums gpu_;
  Sums host_;
  uint64_t queue_ns_ = 0;  // sum over the recording; must fit into 64 bits
  uint64_t ahead_ns_ = 0;
  uint64_t swept_ns_ = 0;
  uint64_t early_ns_ = 0;    // see sweep_early()
  uint64_t unbound_ns_ = 0;  // latest end of work that does not show whether its launch has more work
  bool finished_ = false;
};

}  // namespace gpuprof::record
