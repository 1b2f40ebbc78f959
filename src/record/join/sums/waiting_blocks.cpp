#include "record/join/sums/waiting_blocks.h"

namespace gpuprof::record {

void WaitingBlocks::add(const Source& source, const backend::LaunchBlocks& blocks) {
  const bool has_room = launches_.size() < kMaxLaunches && buckets_ + blocks.buckets.size() <= kMaxBuckets;
  if (!has_room || launches_.contains({source.id, blocks.correlation})) {
    return lose(source.process());
  }
  if (!join_.memory().admit()) {
    return;  // admit() has counted the loss
  }
  Waiting& waiting = launches_[{source.id, blocks.correlation}];
  waiting.since_ns = join_.now_ns;
  waiting.process = source.process();
  (void)waiting.blocks.add(blocks);  // the sums of one launch fit
  buckets_ += blocks.buckets.size();
}

std::optional<profile::BlockTotals> WaitingBlocks::take(backend::SourceId source, uint64_t correlation) {
  const auto found = launches_.find({source, correlation});
  if (found == launches_.end()) {
    return std::nullopt;
  }
  buckets_ -= found->second.blocks.buckets.size();
  std::optional<profile::BlockTotals> taken = std::move(found->second.blocks);
  launches_.erase(found);
  return taken;
}

template <typename Ended>
void WaitingBlocks::lose_if(Ended ended) {
  std::erase_if(launches_, [&](const auto& launch) {
    const bool is_lost = ended(launch);
    if (is_lost) {
      buckets_ -= launch.second.blocks.buckets.size();
      lose(launch.second.process);
    }
    return is_lost;
  });
}

void WaitingBlocks::expire() {
  constexpr uint64_t kExpiryNs = 1'000'000'000;
  if (join_.now_ns >= next_expiry_ns_) {
    next_expiry_ns_ = join_.now_ns + kExpiryNs;
    lose_if([this](const auto& launch) { return launch.second.since_ns + kKeepNs < join_.now_ns; });
  }
}

void WaitingBlocks::end_source(backend::SourceId source) {
  lose_if([source](const auto& launch) { return source == 0 || launch.first.first == source; });
}

}  // namespace gpuprof::record
