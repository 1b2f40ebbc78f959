#include "record/join/sums/latencies.h"

#include <iterator>

namespace gpuprof::record {

void Latencies::add(profile::WorkId work, uint64_t call_ns, const WorkEvent& event) {
  using profile::Phase;
  if (event.site.graph_node != 0) {
    return;
  }
  const auto phase = [&](Phase which, uint64_t from, uint64_t to) {
    constexpr uint64_t kMaxSum = uint64_t{1} << 62;  // lets a reader add up all values in 64 bits
    if (from != 0 && to >= from && to - from <= kMaxSum - sum_ns_[static_cast<size_t>(which)]) {
      sum_ns_[static_cast<size_t>(which)] += to - from;
      histograms_[{work, which}].add(to - from);
    }
  };
  phase(Phase::call_to_start, call_ns, event.start_ns);
  // If one of the driver's times is out of order, ignore all of them.
  const bool in_order =
      event.queued_ns != 0 && event.queued_ns >= call_ns && event.start_ns >= event.queued_ns &&
      (event.submitted_ns == 0 || (event.submitted_ns >= event.queued_ns && event.start_ns >= event.submitted_ns));
  if (!in_order) {
    return;
  }
  phase(Phase::call_to_queued, call_ns, event.queued_ns);
  if (event.submitted_ns != 0) {
    phase(Phase::queued_to_submitted, event.queued_ns, event.submitted_ns);
    phase(Phase::submitted_to_start, event.submitted_ns, event.start_ns);
  }
}

std::vector<std::pair<Latencies::Key, Histogram>> Latencies::take() {
  std::vector<std::pair<Key, Histogram>> taken(std::make_move_iterator(histograms_.begin()),
                                               std::make_move_iterator(histograms_.end()));
  histograms_.clear();
  return taken;
}

}  // namespace gpuprof::record
