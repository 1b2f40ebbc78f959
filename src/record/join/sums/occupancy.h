// How the work of a device shares its time: a sweep over all work in the order of time, some seconds behind the
// present, because records come late and in any order. Keeps no event once it is swept.
//
// Of each nanosecond within the windows of recording, the work that had started first gets it as busy time, all that
// ran get equal parts as exclusive time, or, where nothing ran, it is idle time: of the blocking call in which the
// thread that launched the next work was then, else of that next work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/join/sums/windows.h"

namespace gpuprof::record {

class Occupancy {
 public:
  // Numbers of the caller's; times are CLOCK_MONOTONIC in ns. Slices are `interval_ns` long and count from `start_ns`.
  using Work = uint32_t;    // 0: none
  using Device = uint32_t;  //
  using Thread = uint64_t;  // 0: not known

  // `windows` must live longer.
  Occupancy(const Windows& windows, uint64_t start_ns, uint64_t interval_ns)
      : windows_(windows), start_ns_(start_ns), interval_ns_(interval_ns) {}

  void add(Device device, Work work, Thread thread, uint64_t start, uint64_t end);
  void blocked(Thread thread, Work work, uint64_t start, uint64_t end);

  // Nothing that starts before `watermark` will be added any more; what is, counts as late.
  void advance(uint64_t watermark);
  // The rest, and the idle time after the last work. The last window must have been closed.
  void finish();

  struct SliceWork {
    uint64_t slice = 0;
    Work work = 0;
    Device device = 0;  // of idle time
    bool operator==(const SliceWork&) const = default;
  };
  struct Share {
    uint64_t busy_ns = 0;
    uint64_t exclusive_ns = 0;
  };
  using Shares = std::vector<std::pair<SliceWork, Share>>;
  using Idles = std::vector<std::pair<SliceWork, uint64_t>>;

  // What has been found out since the last call.
  Shares take_shares();
  Idles take_idle();

  // Work that was added too late, and of which this much lay in time that had been swept as idle or others' already; or
  // more at once than any device runs.
  [[nodiscard]] uint64_t late_ns() const { return late_ns_; }
  [[nodiscard]] size_t pending() const;

 private:
  struct Interval {
    uint64_t start;
    uint64_t end;
    Thread thread;
    Work work;
    Share share;
  };
  struct DeviceState {
    std::vector<Interval> pending;  // not swept yet, in any order
    std::vector<Interval> running;  // in the order of their starts
    uint64_t swept_to = 0;          // everything before is charged
  };
  struct SliceWorkHash {
    size_t operator()(const SliceWork& key) const;
  };

  void drop_blocked();
  void sweep(Device device, DeviceState& state, uint64_t until);
  void run_until(DeviceState& state, uint64_t until);
  void charge_running(DeviceState& state, uint64_t until);
  void charge_idle(Device device, uint64_t begin, const Interval& next);
  void add_idle(Device device, Work work, uint64_t begin, uint64_t end);
  [[nodiscard]] uint64_t slice(uint64_t at) const { return at <= start_ns_ ? 0 : (at - start_ns_) / interval_ns_; }

  const Windows& windows_;
  uint64_t start_ns_;
  uint64_t interval_ns_;
  std::unordered_map<Device, DeviceState> devices_;
  std::unordered_map<Thread, std::deque<Interval>> blocked_;  // calls of a thread, one after the other
  size_t blocked_calls_ = 0;                                  // of all threads
  std::unordered_map<SliceWork, Share, SliceWorkHash> shares_;
  std::unordered_map<SliceWork, uint64_t, SliceWorkHash> idle_;
  uint64_t late_ns_ = 0;
};

}  // namespace gpuprof::record
