// When which kernels ran, and as which work: kept for as long as samples of them may come, which name no launch.
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

// Kernels of one name, of one source on one device.
struct KernelKey {
  backend::SourceId source = 0;
  uint32_t device = 0;  // the source's number
  NameIndex name = 0;
  auto operator<=>(const KernelKey&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
};

// Work as which a kernel ran, and for how long.
struct KernelShare {
  profile::WorkId work;
  uint64_t ns = 0;
  uint64_t at_ns = 0;  // a moment at which it did
  bool has_stack = false;
};

class KernelTimes {
 public:
  static constexpr uint64_t kKeepNs = 30'000'000'000;  // since a kernel ended
  static constexpr size_t kMaxRuns = 500'000;  // 40 MiB: further ones are not told apart from the last of their name
  static constexpr uint64_t kKeepLaunchNs = 600'000'000'000;  // that is sampled, until it has run
  static constexpr size_t kMaxLaunches = 100'000;  // that are sampled one by one; samples of further ones are dropped

  explicit KernelTimes(JoinContext& join) : join_(join) {}

  // Samples will name this launch. Before its kernel is added.
  void expect(backend::SourceId source, uint64_t correlation);

  // A kernel ran in [start_ns, end_ns).
  void add(const KernelKey& kernel, profile::WorkId work, bool has_stack, uint64_t start_ns, uint64_t end_ns,
           uint64_t correlation = 0);

  // Whether samples may name the launch. Those of launches that still ran, or that other threads made meanwhile, come,
  // too, and are not expected.
  [[nodiscard]] bool expects(backend::SourceId source, uint64_t correlation) const;
  [[nodiscard]] bool is_full() const { return launches_.size() >= kMaxLaunches; }
  // As what an expected launch ran. Empty: its work has not come.
  [[nodiscard]] std::vector<KernelShare> of_launch(backend::SourceId source, uint64_t correlation) const;

  // As what the kernel ran in [start_ns, end_ns), each work once; of a kernel that ran for no time there, 1 ns.
  [[nodiscard]] std::vector<KernelShare> within(const KernelKey& kernel, uint64_t start_ns, uint64_t end_ns) const;
  // As what it ran last before `end_ns`: when its samples were read later than they were taken. Empty: it is not known.
  [[nodiscard]] std::vector<KernelShare> before(const KernelKey& kernel, uint64_t end_ns) const;

  // After each turn of the drain.
  void expire();
  void end_source(backend::SourceId source);

  [[nodiscard]] size_t size() const { return count_; }

 private:
  // Runs of one work that began in the same tick.
  struct Run {
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    uint64_t ns = 0;  // they need not have filled the time, and they may have run at once
    bool has_stack = false;
  };
  using RunKey = std::pair<uint64_t, profile::WorkId>;  // the tick comes first
  using Runs = std::map<RunKey, Run>;

  struct Expected {
    uint64_t since_ns = 0;
    KernelShare ran;  // ns is 0 until it has
  };

  JoinContext& join_;
  std::map<KernelKey, Runs> kernels_;
  std::map<std::pair<backend::SourceId, uint64_t>, Expected> launches_;  // by source and correlation id
  size_t count_ = 0;
  uint64_t next_expiry_ns_ = 0;
};

}  // namespace gpuprof::record
