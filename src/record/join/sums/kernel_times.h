// Stores when each kernel ran and for which work, until samples without a correlation id can no longer arrive.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/join/context/context.h"
#include "record/process/name_table.h"

namespace gpuprof::record {

struct KernelKey {
  backend::SourceId source = 0;
  uint32_t device = 0;  // the source's id of the device
  NameIndex name = 0;
  auto operator<=>(const KernelKey&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
};

struct KernelShare {
  profile::WorkId work;
  uint64_t ns = 0;
  uint64_t at_ns = 0;  // a time at which the work ran
  bool has_stack = false;
};

class KernelTimes {
 public:
  static constexpr uint64_t kKeepNs = 30'000'000'000;  // runs are kept for this long after they end
  // A run takes about 80 bytes. Further runs are merged into the last run of their kernel.
  static constexpr size_t kMaxRuns = 500'000;
  // A sampled launch waits for its work and its samples for up to this time.
  static constexpr uint64_t kKeepLaunchNs = 600'000'000'000;
  // Limit on announced launches. Samples of further launches are dropped.
  static constexpr size_t kMaxLaunches = 100'000;

  explicit KernelTimes(JoinContext& join) : join_(join) {}

  // Announces a launch: samples with its correlation id will arrive. Call it before adding the launch's kernel.
  void expect(backend::SourceId source, uint64_t correlation);

  void add(const KernelKey& kernel, profile::WorkId work, bool has_stack, uint64_t start_ns, uint64_t end_ns,
           uint64_t correlation = 0);

  // Returns whether the launch was announced. Samples of other concurrent launches also arrive, and should be ignored.
  [[nodiscard]] bool expects(backend::SourceId source, uint64_t correlation) const;
  [[nodiscard]] bool is_full() const { return launches_.size() >= kMaxLaunches; }
  // Returns the work of an announced launch. Empty: the work has not arrived.
  [[nodiscard]] std::vector<KernelShare> of_launch(backend::SourceId source, uint64_t correlation) const;

  // Returns each work that ran the kernel in [start_ns, end_ns), with its run time in that interval (at least 1 ns).
  [[nodiscard]] std::vector<KernelShare> within(const KernelKey& kernel, uint64_t start_ns, uint64_t end_ns) const;
  // Returns the last work that ran the kernel before `end_ns`. Empty: unknown. Use it for samples that were read after
  // their kernel had ended.
  [[nodiscard]] std::vector<KernelShare> before(const KernelKey& kernel, uint64_t end_ns) const;

  void expire();
  void end_source(backend::SourceId source);

  [[nodiscard]] size_t size() const { return count_; }

 private:
  // Merged runs of one work that started in the same tick.
  struct Run {
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    uint64_t ns = 0;  // sum over the merged runs, which may have gaps or overlap
    bool has_stack = false;
  };
  using RunKey = std::pair<uint64_t, profile::WorkId>;  // tick (kTickNs) and work
  struct Runs {
    std::map<RunKey, Run> by_tick;
    uint64_t longest_ns = 0;  // no run is longer
  };

  struct Expected {
    uint64_t since_ns = 0;
    KernelShare ran;  // ran.ns is 0 until the work has arrived
  };

  JoinContext& join_;
  std::map<KernelKey, Runs> kernels_;
  std::map<std::pair<backend::SourceId, uint64_t>, Expected> launches_;
  size_t count_ = 0;
  uint64_t next_expiry_ns_ = 0;
};

}  // namespace gpuprof::record
