// What the work of a recording adds up to: works, one row of sums a work and slice, events, latencies, and how devices
// shared their time.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "record/batch.h"
#include "record/join/context/context.h"
#include "record/join/context/work_event.h"
#include "record/join/sums/latencies.h"
#include "record/join/sums/occupancy.h"
#include "record/join/sums/windows.h"
#include "record/join/sums/work_set.h"

namespace gpuprof::record {

class Rows {
 public:
  Rows(JoinContext& join, const Windows& windows);

  // Takes the event into sums that a profile must be able to hold. False: it does not fit.
  [[nodiscard]] bool admit(const WorkEvent& event);
  // The work's number; `key` loses what is not kept apart any more.
  profile::WorkId intern(WorkKey& key);
  // `pid`: of the process; `call_ns`: of the launch, 0 where it is not known.
  void add(const WorkEvent& event, const WorkKey& key, profile::WorkId work, uint32_t pid, uint64_t call_ns);
  void add_launch(profile::WorkId work, uint64_t ns) { ++row(ns, work).count; }

  // After each turn of the drain.
  void settle();
  // Shares out the time up to some seconds ago, or up to the oldest launch whose work is still to come: it may have
  // started long ago.
  void sweep(uint64_t oldest_waiting);
  // The end: everything has been added.
  void finish();
  void end_image(profile::ProcessId image) { works_.erase(image); }

  void take_new(Batch& batch);
  // Lines that the next batch will have, roughly.
  [[nodiscard]] size_t waiting() const { return rows_.size() + latencies_.size() + events_.size(); }
  // GPU time that came too late to be shared out (see Occupancy), or from a clock that is ahead of ours.
  [[nodiscard]] uint64_t late_ns() const { return occupancy_.late_ns() + ahead_ns_; }

 private:
  struct KeyHash {
    size_t operator()(const RowKey& key) const { return hash_of(key.slice << 32U ^ profile::index(key.work)); }
  };
  // Every sum of a profile must fit into 64 bits, whatever a target claims.
  struct Sums {
    uint64_t ns = 0;
    uint64_t bytes = 0;
    uint64_t count = 0;
  };

  RowValue& row(uint64_t ns, profile::WorkId work);
  void add_queue_time(const WorkEvent& event, RowValue& value);
  void share_time(const WorkEvent& event, const WorkKey& key, profile::WorkId work, uint32_t pid);
  void add_event(const WorkEvent& event, profile::WorkId work);

  JoinContext& join_;
  std::unordered_map<profile::ProcessId, WorkSet> works_;
  uint32_t next_work_ = 1;
  std::vector<NewWork> new_works_;
  std::unordered_map<RowKey, RowValue, KeyHash> rows_;
  uint64_t batch_slice_ = 0;  // of the batch's first moment
  std::vector<profile::Event> events_;
  Latencies latencies_;
  Occupancy occupancy_;
  Sums gpu_;
  Sums host_;
  uint64_t queue_ns_ = 0;  // a sum as well
  uint64_t ahead_ns_ = 0;
  uint64_t swept_ns_ = 0;
  bool finished_ = false;
};

}  // namespace gpuprof::record
