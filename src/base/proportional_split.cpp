#include "base/proportional_split.h"

#include <algorithm>
#include <numeric>

namespace gpuprof {
namespace {

__extension__ typedef unsigned __int128 WideNumber;  // NOLINT(modernize-use-using): `using` cannot follow __extension__

// This step is derived from the golden ratio, so that the phases of consecutive calls are evenly distributed.
constexpr uint32_t kSplitStep = 0x9e3779b9;
constexpr unsigned kPhaseBits = 32;

}  // namespace

std::vector<uint64_t> ProportionalSplit::split(uint64_t count, const std::vector<uint64_t>& weights) {
  phase_ += kSplitStep;
  const uint64_t total = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  if (total == 0) {
    return weights.empty() ? std::vector<uint64_t>() : split(count, std::vector<uint64_t>(weights.size(), 1));
  }
  // The exact share of a part is an interval (from, to] of [0, count]. The part gets the number of integers in (from
  // + phase, to + phase].
  std::vector<uint64_t> parts;
  uint64_t up_to = 0;
  uint64_t given = 0;
  for (const uint64_t weight : weights) {
    up_to += weight;
    const WideNumber whole = WideNumber{count} * up_to;
    const WideNumber fraction = ((whole % total) << kPhaseBits) / total;
    const uint64_t end = std::min(
        count, static_cast<uint64_t>(whole / total) + static_cast<uint64_t>((fraction + phase_) >> kPhaseBits));
    parts.push_back(end - given);
    given = end;
  }
  return parts;
}

}  // namespace gpuprof
