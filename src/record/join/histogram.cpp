#include "record/join/histogram.h"

#include <algorithm>

#include "profile/latency_bucket.h"

namespace gpuprof::record {

void Histogram::add(uint64_t ns) {
  ++count;
  sum_ns += ns;
  min_ns = std::min(min_ns, ns);
  max_ns = std::max(max_ns, ns);
  const uint32_t bucket = profile::bucket_of(ns);
  const auto at = std::lower_bound(buckets.begin(), buckets.end(), bucket,
                                   [](const auto& entry, uint32_t wanted) { return entry.bucket < wanted; });
  if (at != buckets.end() && at->bucket == bucket) {
    ++at->count;
  } else {
    buckets.insert(at, {bucket, 1});
  }
}

void Latencies::add(profile::WorkId work, uint64_t call_ns, const backend::GpuOp& op) {
  using profile::Phase;
  if (op.graph_node != 0) {
    return;
  }
  const auto phase = [&](Phase which, uint64_t from, uint64_t to) {
    constexpr uint64_t kMaxSum = uint64_t{1} << 62;  // of everything, or a reader could not add it up
    if (from != 0 && to >= from && to - from <= kMaxSum - sum_ns_[static_cast<size_t>(which)]) {
      sum_ns_[static_cast<size_t>(which)] += to - from;
      histograms_[{work, which}].add(to - from);
    }
  };
  phase(Phase::call_to_start, call_ns, op.start_ns);
  // One time out of order, and none of the driver's is to be believed.
  const bool in_order = op.queued_ns != 0 && op.queued_ns >= call_ns && op.start_ns >= op.queued_ns &&
                        (op.submitted_ns == 0 || (op.submitted_ns >= op.queued_ns && op.start_ns >= op.submitted_ns));
  if (!in_order) {
    return;
  }
  phase(Phase::call_to_queued, call_ns, op.queued_ns);
  if (op.submitted_ns != 0) {
    phase(Phase::queued_to_submitted, op.queued_ns, op.submitted_ns);
    phase(Phase::submitted_to_start, op.submitted_ns, op.start_ns);
  }
}

std::vector<std::pair<Latencies::Key, Histogram>> Latencies::take() {
  std::vector<std::pair<Key, Histogram>> taken(std::make_move_iterator(histograms_.begin()),
                                               std::make_move_iterator(histograms_.end()));
  histograms_.clear();
  return taken;
}

}  // namespace gpuprof::record
