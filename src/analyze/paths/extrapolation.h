// Extrapolates stacks. --max-overhead leaves out the stacks of randomly chosen launches. The work of such a launch is
// shown under the stacks of other launches of the same work ("donors").
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyze/paths/launch_site.h"
#include "analyze/rows/aggregate.h"

namespace gpuprof::analyze {

class StackExtrapolation {
 public:
  struct SampledStack {
    profile::StackId ustack{};
    profile::StackId kstack{};
    uint64_t ns = 0;
    uint64_t count = 0;
  };

  // Limits the memory for extrapolated paths (work items times donors). Work beyond the limit is not extrapolated.
  static constexpr size_t kMostParts = 4'000'000;

  explicit StackExtrapolation(const Aggregate& rows) : rows_(rows) {}

  // Returns at most 1000 stacks, those of the most similar sampled launches. If no launch matches the work exactly,
  // ignores device and stream, then also the range, then also the thread. Returns an empty list if no launch has the
  // same process, operation and name.
  const std::vector<SampledStack>& of(const profile::Work& work);

  // Calls `emit(site, part)` for the launch site of the work or, if its stack was not sampled, for the launch site of
  // each donor. The parts add up to `weight`.
  template <typename W, typename Emit>
  void each_part(const profile::Work& work, const W& weight, Emit emit);
  // Resets the count of parts. Call it before another pass over the rows, so that each pass can make kMostParts parts.
  void restart() { parts_ = 0; }

 private:
  struct Key {
    uint32_t process = 0;
    uint32_t tid = 0;
    uint32_t device = 0;
    uint32_t name = 0;
    uint32_t range = 0;
    uint32_t capture = 0;
    uint64_t stream = 0;
    profile::Op op = profile::Op::kernel;
    bool graph_node = false;  // true for nodes of CUDA graphs, which are never treated as similar to single launches
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  using Groups = std::unordered_map<Key, std::vector<SampledStack>, KeyHash>;
  static constexpr size_t kLevels = 4;  // levels of similarity, from strict to loose

  static Key key_of(const profile::Work& work, size_t level);
  [[nodiscard]] Groups group(size_t level) const;

  const Aggregate& rows_;
  std::array<std::optional<Groups>, kLevels> groups_;
  std::vector<SampledStack> none_;
  size_t parts_ = 0;  // number of parts that each_part() made since restart()
};

// Divides `amount` in proportion to `shares`, whose sum must be at least 1 and fit 64 bits. The parts add up to
// `amount`: the largest remainders are rounded up.
std::vector<uint64_t> apportion(uint64_t amount, const std::vector<uint64_t>& shares);

// Returns the shares of the donors: their ns. If all ns are 0, returns their counts; if these are 0 too, 1 for each
// donor.
std::vector<uint64_t> shares_of(const std::vector<StackExtrapolation::SampledStack>& donors);

// Divides each number of `weight` in proportion to the donors' shares. The parts add up exactly.
template <typename W>
std::vector<W> split(const W& weight, const std::vector<StackExtrapolation::SampledStack>& donors) {
  const std::vector<uint64_t> shares = shares_of(donors);
  std::vector<W> parts(donors.size());
  for (uint64_t W::*const number : W::kNumbers) {
    const std::vector<uint64_t> amounts = apportion(weight.*number, shares);
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i].*number = amounts[i];
    }
  }
  return parts;
}

template <typename W>
bool is_zero(const W& weight) {
  return std::all_of(std::begin(W::kNumbers), std::end(W::kNumbers),
                     [&](uint64_t W::*number) { return weight.*number == 0; });
}

template <typename W, typename Emit>
void StackExtrapolation::each_part(const profile::Work& work, const W& weight, Emit emit) {
  LaunchSite site = site_of(work);
  const std::vector<SampledStack>& donors = profile::is_unsampled(work) && parts_ < kMostParts ? of(work) : none_;
  if (donors.empty()) {
    emit(site, weight);
    return;
  }
  parts_ += donors.size();
  site.no_launch = PathNote::no_cpu_stack;
  const std::vector<W> parts = split(weight, donors);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!is_zero(parts[i])) {
      site.ustack = donors[i].ustack;
      site.kstack = donors[i].kstack;
      emit(site, parts[i]);
    }
  }
}

}  // namespace gpuprof::analyze
