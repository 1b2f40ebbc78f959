// Launches that got no stack because of --max-overhead were chosen at random: the stacks of the same work's other
// launches stand for theirs.
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

class StackDonors {
 public:
  // The stacks of a launch, and how much work of the same kind came from there.
  struct Donor {
    profile::StackId ustack{};
    profile::StackId kstack{};
    uint64_t ns = 0;
    uint64_t count = 0;
  };

  // Each work that is spread has a path for each of its donors: a small file could ask for any amount of memory. Past
  // so many in all, the rest stays as it is.
  static constexpr size_t kMostParts = 4'000'000;

  explicit StackDonors(const Aggregate& rows) : rows_(rows) {}

  // The stacks of the launches that are most like that of `work`: of the same process and thread, device, stream,
  // operation, name and range, or, where there are none, of fewer of these; the 1000 heaviest. Empty where even
  // (process, operation, name) has none.
  const std::vector<Donor>& of(const profile::Work& work);

  // Calls `emit(site, part)` for each site that a part of the work's weight is shown under: its own, or those of its
  // donors. The parts add up to the weight.
  template <typename W, typename Emit>
  void each_part(const profile::Work& work, const W& weight, Emit emit);
  // Before all rows are looked at once more: kMostParts counts from here on.
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
    bool graph_node = false;  // what a graph launches is never like what is launched on its own
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  using Groups = std::unordered_map<Key, std::vector<Donor>, KeyHash>;
  static constexpr size_t kLevels = 4;  // from fine to coarse

  static Key key_of(const profile::Work& work, size_t level);
  [[nodiscard]] Groups group(size_t level) const;

  const Aggregate& rows_;
  std::array<std::optional<Groups>, kLevels> groups_;  // made when first needed
  std::vector<Donor> none_;
  size_t parts_ = 0;  // that each_part() has made so far
};

// `amount` in the proportion of `shares`, whose sum is at least 1 and fits 64 bits. The parts add up to it; what
// remains after rounding down goes to those who lost most by it.
std::vector<uint64_t> apportion(uint64_t amount, const std::vector<uint64_t>& shares);

// The donors' ns; their counts if no time was measured; all 1 if nothing was.
std::vector<uint64_t> shares_of(const std::vector<StackDonors::Donor>& donors);

// Splits each number of `weight` in proportion to the donors' shares. The parts add up to it exactly.
template <typename W>
std::vector<W> split(const W& weight, const std::vector<StackDonors::Donor>& donors) {
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
void StackDonors::each_part(const profile::Work& work, const W& weight, Emit emit) {
  LaunchSite site = site_of(work);
  const std::vector<Donor>& donors = profile::is_unsampled(work) && parts_ < kMostParts ? of(work) : none_;
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
