// Apportions idle time of one device that lies in short gaps. A poll of a thread says what the thread did at one
// moment. The moments are chosen at random, so the polls that fall into gaps are a random sample of the idle time, and
// divide it between causes. A poll does not say whether a runnable thread had a processor. CPU samples say that: the
// CPU time of the samples that fall into gaps is less than the runnable time, if the threads waited for a processor.
// The samples also divide the time on a CPU between stacks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_set>
#include <utility>

#include "base/proportional_split.h"

namespace gpuprof::record {

class SampledIdle {
 public:
  using Work = uint32_t;                       // see Occupancy
  static constexpr uint64_t kLeastPolls = 30;  // fewer polls say nothing about the time of a slice

  // Idle time in this slice. If polls do not explain it, it belongs to `otherwise`.
  void add_time(uint64_t slice, Work otherwise, uint64_t ns);
  // Idle time in which the thread was certainly on a CPU. If samples do not explain it, it belongs to `on_cpu`. One
  // SampledIdle gets either such time, or time that polls explain.
  void add_on_cpu(uint64_t slice, Work on_cpu, uint64_t ns);
  // In the idle time, a poll found the thread blocked.
  void add_blocked(Work cause) { ++now_.blocked[cause]; }
  // In the idle time, a poll found the thread runnable: on a CPU, or waiting for one. `no_processor` gets the waits.
  void add_runnable(Work no_processor) { ++now_.runnable[no_processor]; }
  // In the idle time, a poll found a runnable thread that has no CPU samples.
  void add_unexplained() { add_blocked(0); }
  // A CPU sample in the idle time, for `ns` of CPU time.
  void add_sample(Work stack, uint64_t ns);
  // So long, at most, did the threads wait for a processor in the idle time.
  void add_waited(uint64_t ns) { now_.waited_ns += ns; }

  // Apportions the time by the polls since the last call, if they are enough. If not and `at_once`: by these polls and
  // those before, if they are enough together. The sum of what `emit` gets is the time, to the nanosecond.
  using Emit = std::function<void(uint64_t slice, Work work, uint64_t ns)>;
  void settle(bool at_once, const Emit& emit);

  // Polls that found these causes explain no later time: their process has ended.
  void forget(const std::unordered_set<Work>& causes);

  [[nodiscard]] bool empty() const { return time_.empty(); }
  [[nodiscard]] uint64_t first_slice() const { return time_.begin()->first.first; }  // only if not empty

  struct Totals {
    uint64_t ns = 0;     // time that polls have explained
    uint64_t polls = 0;  // in gaps, whether they explained time or were too few
  };
  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  struct Counts {
    std::map<Work, uint64_t> blocked;   // polls
    std::map<Work, uint64_t> runnable;  // polls
    std::map<Work, uint64_t> samples;   // ns of CPU time
    uint64_t waited_ns = 0;
    uint64_t time_ns = 0;
    uint64_t on_cpu_ns = 0;  // the part of time_ns from add_on_cpu()
    uint64_t moments = 0;    // number of CPU samples
    void add(const Counts& other);
    void halve();
    [[nodiscard]] bool are_exact() const { return on_cpu_ns != 0; }
    // Returns the number of polls, or of samples if there are no polls.
    [[nodiscard]] uint64_t evidence() const { return are_exact() ? moments : polls(); }
    void forget(const std::unordered_set<Work>& causes);
    [[nodiscard]] uint64_t polls() const;
    [[nodiscard]] uint64_t runnable_ns() const;
    [[nodiscard]] uint64_t cpu_ns() const;
    [[nodiscard]] bool are_enough() const;
  };
  // Returns the ns of each work, about.
  [[nodiscard]] std::map<Work, uint64_t> shares_of(const Counts& counts) const;

  std::map<std::pair<uint64_t, Work>, uint64_t> time_;  // keyed by slice and `otherwise`
  Counts now_;
  Counts before_;  // those that explained the last time, or were too few
  // Sums of the whole recording. Their differences are less random than those of a slice.
  uint64_t runnable_ns_ = 0;
  uint64_t cpu_ns_ = 0;
  uint64_t waited_ns_ = 0;
  Totals totals_;
  ProportionalSplit split_;
};

}  // namespace gpuprof::record
