// Keeps the thread blocks of launches until the GPU work of the launch arrives. Counts those whose work never arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "backend/event_sink.h"
#include "profile/block_totals.h"
#include "record/join/context/context.h"

namespace gpuprof::record {

class WaitingBlocks {
 public:
  // A target sends the work right after its blocks. The work may still wait for its launch or for names.
  static constexpr uint64_t kKeepNs = 30'000'000'000;
  static constexpr size_t kMaxLaunches = 100'000;
  static constexpr size_t kMaxBuckets = 1'000'000;  // a bucket takes 16 bytes

  explicit WaitingBlocks(JoinContext& join) : join_(join) {}

  void add(const Source& source, const backend::LaunchBlocks& blocks);
  // Removes and returns the blocks of the launch. Nullopt: none wait.
  std::optional<profile::BlockTotals> take(backend::SourceId source, uint64_t correlation);
  void expire();
  // No more work of the source (0: of all sources) will arrive.
  void end_source(backend::SourceId source);

 private:
  using Key = std::pair<backend::SourceId, uint64_t>;
  struct Waiting {
    profile::BlockTotals blocks;
    uint64_t since_ns = 0;
    profile::ProcessId process{};
  };
  using Launches = std::map<Key, Waiting>;

  void lose(profile::ProcessId process) { join_.counters.add_loss(process, profile::LossReason::details_lost, 1); }
  template <typename Ended>
  void lose_if(Ended ended);

  JoinContext& join_;
  Launches launches_;
  size_t buckets_ = 0;
  uint64_t next_expiry_ns_ = 0;
};

}  // namespace gpuprof::record
