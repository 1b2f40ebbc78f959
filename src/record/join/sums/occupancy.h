// Apportions the time of each device among its work. Sweeps over all work in order of time, some seconds late, because
// records arrive late and out of order. Removes work that has been swept. At each nanosecond inside a recording window,
// the running work that started first gets the busy time, and all running work gets equal parts as exclusive time. Time
// without running work is idle time. It is charged to what the thread that launched the next work did: to its blocking
// calls, and with CPU samples also to its computing and to other times in which it did not compute. In short gaps,
// polls and samples apportion the time outside of calls (sampled_idle.h). The rest is charged to the next work, or to
// add()'s `otherwise`. All time counts in the slice in which it passed, except that one piece of time longer than a
// million slices counts in the slice in which it begins.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/recent_map.h"
#include "profile/slice_grid.h"
#include "record/join/context/windows.h"
#include "record/join/sums/sampled_idle.h"

namespace gpuprof::record {

class Occupancy {
 public:
  // The caller chooses the ids. Times are CLOCK_MONOTONIC in ns. The first slice starts at `start_ns`.
  using Work = uint32_t;  // 0: no work
  using Device = uint32_t;
  using Thread = uint64_t;  // 0: unknown

  // `windows` must outlive this object. Gaps with less recorded time than `sampled_gap_ns` are short: in them, only the
  // moments of samples and polls count, not the time that these stand for.
  Occupancy(const Windows& windows, uint64_t start_ns, const profile::SliceGrid& grid, uint64_t sampled_gap_ns = 0)
      : windows_(windows), start_ns_(start_ns), grid_(grid), sampled_gap_ns_(sampled_gap_ns) {}

  // What a thread did, in the order in which it explains idle time. Where intervals overlap, the first kind counts:
  // calls that do not wait for the device, computing, calls that wait for the device, other times.
  enum class Did : uint8_t { work_in_call, compute, call, off_cpu };

  // `otherwise`: gets the idle time before this work that no interval of the thread explains. 0: `work` gets it.
  void add(Device device, Work work, Thread thread, uint64_t start, uint64_t end, Work otherwise = 0);
  // Idle time in this interval belongs to `work`, if the thread launches the next work: at most `limit` ns of it.
  void blocked(Thread thread, Work work, uint64_t start, uint64_t end, Did did = Did::call,
               uint64_t limit = UINT64_MAX);

  // What a poll found at one moment. `waited_ns`: how long the thread has waited for a processor since it started.
  struct Poll {
    uint64_t at = 0;
    Work cause = 0;            // why it was blocked, or if it was runnable: what gets its waits for a processor
    bool is_runnable = false;  // it was on a CPU, or waited for one
    uint64_t waited_ns = 0;
  };
  // Polls of a thread must come in order of time.
  void polled(Thread thread, const Poll& poll);

  // From `since` on, the thread's intervals of the kind off_cpu are exact and complete, so that it is on a CPU at other
  // times. Does nothing if this is known already. `on_cpu`: gets the idle time on a CPU that samples do not explain.
  void set_exact(Thread thread, Work on_cpu, uint64_t since);
  // Intervals before `until` may be missing, whatever set_exact() said.
  void lose_exact(uint64_t until);
  void lose_exact(Thread thread, uint64_t until);

  // The process of these causes has ended: polls of it explain no idle time after `at`.
  void ended(uint64_t at, std::unordered_set<Work> causes) { ended_.emplace_back(at, std::move(causes)); }

  // Sweeps up to `watermark`. If work that starts before `watermark` is added later, its time counts as late.
  void advance(uint64_t watermark);
  // Sweeps everything, and charges the idle time after the last work. If the last window is still open, its end is
  // unknown, so that idle time is not charged.
  void finish();

  struct SliceWork {
    uint64_t slice = 0;
    Work work = 0;
    Device device = 0;  // set only in Idles
    bool operator==(const SliceWork&) const = default;
  };
  struct Share {
    uint64_t busy_ns = 0;
    uint64_t exclusive_ns = 0;
  };
  using Shares = std::vector<std::pair<SliceWork, Share>>;
  using Idles = std::vector<std::pair<SliceWork, uint64_t>>;

  // These return the results since the last call.
  Shares take_shares();
  Idles take_idle();

  // Returns the time that was not apportioned, because work was added too late or because more than kMaxRunningWork ran
  // at once.
  [[nodiscard]] uint64_t late_ns() const { return late_ns_; }
  [[nodiscard]] size_t pending() const;
  // Returns the idle time that polls apportioned, and their number.
  [[nodiscard]] SampledIdle::Totals sampled() const;
  // Returns the end of the time whose idle time is final, if advance() has swept up to `watermark`.
  [[nodiscard]] uint64_t idle_known_until(uint64_t watermark) const;
  // Returns how long a device had no work after its first work, at most: in gaps that ended since the last call, and in
  // those that last until `watermark`.
  uint64_t take_longest_gap(uint64_t watermark);

 private:
  struct Interval {
    uint64_t start;
    uint64_t end;
    Thread thread;
    Work work;
    Work otherwise;  // see add()
  };
  struct Call : Interval {
    uint64_t limit;  // see blocked()
  };
  struct Charged {
    uint64_t start = 0;  // when the call began
    uint64_t ns = 0;     // how much of the call's limit is used up
  };
  struct Running : Interval {
    Share share;
  };
  struct Blocked {
    std::deque<Call> calls;                              // in order of their end
    size_t next = 0;                                     // result of the last search for a call
    std::map<std::pair<Device, Work>, Charged> charged;  // for the last call of each work
  };
  struct Lane {
    std::array<Blocked, 4> intervals;  // indexed by Did
    std::deque<Poll> polls;
    bool feeds = false;        // the thread has launched work
    bool is_sampled = false;   // it has had CPU samples
    uint64_t exact_since = 0;  // see set_exact(); 0: never
    void lose_exact(uint64_t until);
    Work on_cpu = 0;                       // see set_exact()
    std::map<Device, uint64_t> waited_ns;  // how much of Poll::waited_ns the device has taken
  };
  static uint64_t end_of(const Call& call) { return call.end; }
  static uint64_t end_of(const Poll& poll) { return poll.at; }
  struct DeviceState {
    std::vector<Interval> pending;
    // `pending` is a sequence of runs in order of start time, because each ring delivers its records in order. These
    // are the beginnings of the runs but for the first one.
    std::vector<size_t> runs;
    std::vector<Running> running;
    uint64_t swept_to = 0;  // all time before this has been charged
    SampledIdle sampled;
  };
  struct SliceWorkHash {
    size_t operator()(const SliceWork& key) const;
  };

  void drop_blocked();
  // Brings the pending work in order of start time.
  static void sort(DeviceState& state);
  // Returns the index of the first call that ends after `begin`.
  static size_t first_after(Blocked& blocked, uint64_t begin);
  void sweep(Device device, DeviceState& state, uint64_t until);
  void run_until(DeviceState& state, uint64_t until);
  void charge_running(DeviceState& state, uint64_t until);
  void flush(Running& work, uint64_t slice);
  // Returns the end of the slice that contains `at`, but at most `until`. Returns `until` if nothing between the two
  // was recorded, or too many slices.
  [[nodiscard]] uint64_t end_of_slice(uint64_t at, uint64_t until) const;
  void charge_idle(Device device, uint64_t begin, const Interval& next);
  // Charges the time to the intervals of these kinds, the first ones first. Calls `rest` for what they do not cover.
  using Rest = std::function<void(uint64_t begin, uint64_t end)>;
  void charge_lane(Device device, Lane& lane, std::span<const Did> kinds, uint64_t begin, uint64_t end,
                   const Rest& rest);
  // Charges time outside of exact intervals.
  void charge_on_cpu(Device device, Lane& lane, uint64_t begin, uint64_t end, Work otherwise);
  void add_samples(SampledIdle& sampled, Lane& lane, uint64_t begin, uint64_t end);
  // Returns where the device's time in short gaps is apportioned, ready for time that begins at `begin`.
  SampledIdle& sampled_at(Device device, uint64_t begin);
  // Charges time of a short gap by the thread's polls and samples in it.
  void charge_sampled(Device device, Lane& lane, uint64_t begin, uint64_t end, Work otherwise);
  void settle(Device device, SampledIdle& sampled, bool at_once);
  // Calls `use` with each slice and its recorded time.
  template <typename Use>
  void for_each_slice(uint64_t begin, uint64_t end, Use use) const;
  void add_idle(Device device, Work work, uint64_t begin, uint64_t end);
  [[nodiscard]] uint64_t slice(uint64_t at) const { return at <= start_ns_ ? 0 : grid_.slice_at(at - start_ns_); }
  [[nodiscard]] uint64_t begin_ns(uint64_t slice) const { return start_ns_ + slice * grid_.interval_ns; }

  const Windows& windows_;
  uint64_t start_ns_;
  profile::SliceGrid grid_;
  uint64_t sampled_gap_ns_;
  RecentMap<std::unordered_map<Device, DeviceState>> devices_;
  std::unordered_map<Thread, Lane> blocked_;
  size_t blocked_calls_ = 0;
  std::unordered_map<SliceWork, Share, SliceWorkHash> shares_;
  std::unordered_map<SliceWork, uint64_t, SliceWorkHash> idle_;
  std::vector<std::pair<uint64_t, std::unordered_set<Work>>> ended_;  // not yet swept
  uint64_t late_ns_ = 0;
  uint64_t longest_gap_ns_ = 0;
};

}  // namespace gpuprof::record
