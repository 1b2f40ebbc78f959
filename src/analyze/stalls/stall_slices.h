// Estimates how much the shares of a kernel's stall reasons vary over time beyond chance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/records.h"

namespace gpuprof::analyze {

// Sums over blocks of time. Sums of several profiles can be added.
struct StallSpread {
  double part = 0;     // samples of the kernel that have this stall reason
  double whole = 0;    // all samples of the kernel
  double squares = 0;  // sum of part * part / whole over all blocks, with each block's own part and whole
  double blocks = 0;   // number of blocks that have samples of the kernel

  StallSpread& operator+=(const StallSpread& other);

  // Returns how much `part` varies between blocks: its variance relative to that of a binomial distribution. Returns at
  // least 1, and 1 if it is unknown.
  [[nodiscard]] double dispersion() const;
};

// Sums per kernel and reason in at most kBlocks blocks of time slices. Blocks become longer as the recording does.
class StallSlices {
 public:
  static constexpr size_t kBlocks = 64;
  static constexpr size_t kMostPairs = 65536;  // maximum number of (kernel, reason) pairs; further pairs are ignored

  void add(profile::StringId kernel, profile::StringId reason, uint64_t slice, uint64_t count);

  // Returns sums with `part` = 0 if the kernel has no sample with the reason.
  [[nodiscard]] StallSpread spread(profile::StringId kernel, profile::StringId reason) const;
  [[nodiscard]] double dispersion(profile::StringId kernel, profile::StringId reason) const {
    return spread(kernel, reason).dispersion();
  }

 private:
  using Blocks = std::array<uint64_t, kBlocks>;
  static Blocks* blocks_of(std::unordered_map<uint64_t, size_t>& positions, std::vector<Blocks>& all, uint64_t key);
  void widen_blocks(uint64_t slice);

  bool begun_ = false;
  uint64_t first_ = 0;
  uint64_t width_ = 1;  // slices per block
  std::unordered_map<uint64_t, size_t> kernels_;
  std::unordered_map<uint64_t, size_t> pairs_;  // key: kernel and reason
  std::vector<Blocks> of_kernels_;
  std::vector<Blocks> of_pairs_;
};

struct Interval {
  double low = 0;
  double high = 1;
};

// Returns Wilson's 95% interval for the share part / whole (whole >= 1). Divides the sample size by `dispersion`, which
// makes the interval wider.
Interval share_interval(uint64_t part, uint64_t whole, double dispersion);

}  // namespace gpuprof::analyze
