#include "compare/stall_shares.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace gpuprof::compare {
namespace {

constexpr double kLeastShareChange = 0.01;

StallShare::Side share_side_of(const StallSums& sums, uint32_t reason) {
  const auto found = sums.reasons.find(reason);
  const StallSums::Reason part = found == sums.reasons.end() ? StallSums::Reason() : found->second;
  return {.samples = part.samples,
          .share = static_cast<double>(part.samples) / static_cast<double>(sums.samples),
          .interval = analyze::share_interval(part.samples, sums.samples, sums.spread(part).dispersion())};
}

double difference(const StallShare& share) {
  return std::abs(share.after.share - share.before.share);
}

// Sort key. If one reason gained what the other lost, the reason that grew comes first.
std::tuple<bool, long long, bool> rank(const StallShare& share) {
  // Shares are compared in steps of 1e-9, so that rounding errors do not affect the order.
  constexpr double kParts = 1e9;
  return {share.changed, std::llround(kParts * difference(share)), share.after.share > share.before.share};
}

bool is_changed(const StallShare& share) {
  const analyze::Interval& before = share.before.interval;
  const analyze::Interval& after = share.after.interval;
  return (before.high < after.low || after.high < before.low) && difference(share) >= kLeastShareChange;
}

}  // namespace

std::vector<StallShare> stall_shares(const KernelLine& kernel) {
  std::vector<StallShare> shares;
  const auto& [before, after] = kernel.stalls;
  if (before.samples == 0 || after.samples == 0) {
    return shares;
  }
  std::set<uint32_t> reasons;
  for (const StallSums& side : kernel.stalls) {
    for (const auto& [reason, sums] : side.reasons) {
      reasons.insert(reason);
    }
  }
  for (const uint32_t reason : reasons) {
    StallShare& share = shares.emplace_back();
    share.reason = reason;
    share.before = share_side_of(before, reason);
    share.after = share_side_of(after, reason);
    share.changed = is_changed(share);
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const StallShare& a, const StallShare& b) { return rank(b) < rank(a); });
  return shares;
}

}  // namespace gpuprof::compare
