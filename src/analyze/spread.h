// Launches that got no stack because of --max-overhead were chosen at random: the stacks of the same work's other
// launches stand for theirs. For fold.cpp and for compare, whose paths are those of `flame`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyze/aggregate.h"

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
};

// `amount` in the proportion of `shares`, whose sum is at least 1 and fits 64 bits. The parts add up to it; what
// remains after rounding down goes to those who lost most by it.
std::vector<uint64_t> apportion(uint64_t amount, const std::vector<uint64_t>& shares);

// Splits `weight` in proportion to the donors' ns (their counts where no time was measured); the parts add up to it
// exactly, in each of its numbers.
std::vector<Weight> split(const Weight& weight, const std::vector<StackDonors::Donor>& donors);

}  // namespace gpuprof::analyze
