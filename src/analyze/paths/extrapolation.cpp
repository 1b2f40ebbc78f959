#include "analyze/paths/extrapolation.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/hash.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

uint64_t mix(uint64_t a, uint64_t b) {
  return fold_multiply(a ^ kHashMultiplier, b ^ GPUPROF_OTHER_MULTIPLIER);
}

// Maximum number of sampled stacks per group. Each unsampled work item is divided among all stacks of its group, so
// many stacks would cost much time and memory.
constexpr size_t kMaxSampledStacks = 1000;

// Merges entries that have equal stacks but different ranges or streams. Keeps only the kMaxSampledStacks heaviest
// ones.
void join_equal_stacks(std::vector<StackExtrapolation::SampledStack>& donors) {
  const auto stacks = [](const StackExtrapolation::SampledStack& donor) {
    return std::pair(donor.ustack, donor.kstack);
  };
  std::sort(donors.begin(), donors.end(), [&](const auto& a, const auto& b) { return stacks(a) < stacks(b); });
  size_t kept = 0;
  for (size_t i = 1; i < donors.size(); ++i) {
    if (stacks(donors[i]) == stacks(donors[kept])) {
      donors[kept].ns += donors[i].ns;
      donors[kept].count += donors[i].count;
    } else {
      donors[++kept] = donors[i];
    }
  }
  donors.resize(kept + 1);  // `kept` is the last index, because `donors` is never empty
  if (donors.size() > kMaxSampledStacks) {
    std::stable_sort(donors.begin(), donors.end(),
                     [](const auto& a, const auto& b) { return std::pair(a.ns, a.count) > std::pair(b.ns, b.count); });
    donors.resize(kMaxSampledStacks);
  }
}

}  // namespace

size_t StackExtrapolation::KeyHash::operator()(const Key& key) const {
  uint64_t h = mix(join_ids(key.process, key.tid), join_ids(key.device, key.name));
  h = mix(h, join_ids(key.range, key.capture));
  h = mix(h, (uint64_t{static_cast<uint8_t>(key.op)} << 1U) | (key.graph_node ? 1U : 0U));
  return mix(h, key.stream);
}

StackExtrapolation::Key StackExtrapolation::key_of(const p::Work& work, size_t level) {
  Key key{.process = index(work.process),
          .name = index(work.name),
          .op = work.op,
          .graph_node = (work.flags & p::kWorkGraphNode) != 0};
  if (level <= 2) {
    key.tid = work.tid;
  }
  if (level <= 1) {
    key.range = index(work.range);
  }
  if (level == 0) {
    key.device = index(work.device);
    key.stream = work.stream;
    key.capture = index(work.capture);
  }
  return key;
}

StackExtrapolation::Groups StackExtrapolation::group(size_t level) const {
  Groups groups;
  for (const LargeVector<Row>* rows : {&rows_.rows, &rows_.host}) {
    for (const Row& row : *rows) {
      const p::Work& work = rows_.work(row);
      if (p::has_stack(work) && (work.flags & p::kWorkUnsampled) == 0) {
        groups[key_of(work, level)].push_back({work.ustack, work.kstack, row.weight.ns, row.weight.count});
      }
    }
  }
  for (auto& [key, donors] : groups) {
    join_equal_stacks(donors);
  }
  return groups;
}

const std::vector<StackExtrapolation::SampledStack>& StackExtrapolation::of(const p::Work& work) {
  for (size_t level = 0; level < kLevels; ++level) {
    if (!groups_[level]) {
      groups_[level] = group(level);
    }
    const auto found = groups_[level]->find(key_of(work, level));
    if (found != groups_[level]->end()) {
      return found->second;
    }
  }
  return none_;
}

std::vector<uint64_t> apportion(uint64_t amount, const std::vector<uint64_t>& shares) {
  const uint64_t whole = std::accumulate(shares.begin(), shares.end(), uint64_t{0});
  std::vector<uint64_t> parts(shares.size());
  std::vector<uint64_t> remainders(shares.size());
  uint64_t left = amount;
  for (size_t i = 0; i < shares.size(); ++i) {
    const p::Uint128 product = p::Uint128{amount} * shares[i];
    parts[i] = static_cast<uint64_t>(product / whole);
    remainders[i] = static_cast<uint64_t>(product % whole);
    left -= parts[i];
  }
  if (left == 0) {
    return parts;
  }
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  for (size_t i = 0; i < left; ++i) {  // `left` is less than the number of shares, so order[i] exists
    ++parts[order[i]];
  }
  return parts;
}

std::vector<uint64_t> shares_of(const std::vector<StackExtrapolation::SampledStack>& donors) {
  std::vector<uint64_t> shares(donors.size());
  std::transform(donors.begin(), donors.end(), shares.begin(), [](const auto& donor) { return donor.ns; });
  const auto all_zero = [&] { return std::all_of(shares.begin(), shares.end(), [](uint64_t s) { return s == 0; }); };
  if (all_zero()) {
    std::transform(donors.begin(), donors.end(), shares.begin(), [](const auto& donor) { return donor.count; });
  }
  if (all_zero()) {
    std::fill(shares.begin(), shares.end(), 1);
  }
  return shares;
}

}  // namespace gpuprof::analyze
