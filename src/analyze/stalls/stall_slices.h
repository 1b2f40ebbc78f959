// How samples of a kernel are spread over time: what a share of them is uncertain by, beyond chance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/records.h"

namespace gpuprof::analyze {

// Sums over blocks of time, of a kernel's samples and of those of one reason. They can be added up over profiles.
struct StallSpread {
  double part = 0;     // samples of the reason
  double whole = 0;    // of the kernel
  double squares = 0;  // of a block's part, by its whole
  double blocks = 0;   // with samples of the kernel

  StallSpread& operator+=(const StallSpread& other);

  // How many times as large the variance of the parts is as that of a binomial distribution; at least 1, which is also
  // for what is not known. Counts of a kernel in one block of time are one draw.
  [[nodiscard]] double dispersion() const;
};

// Sums for each kernel and reason in at most kBlocks blocks of slices, which grow as the recording does.
class StallSlices {
 public:
  static constexpr size_t kBlocks = 64;
  static constexpr size_t kMostPairs = 65536;  // of kernels and reasons: further ones are not known

  void add(profile::StringId kernel, profile::StringId reason, uint64_t slice, uint64_t count);

  // Of a reason that the kernel has not, it is that of a part of 0.
  [[nodiscard]] StallSpread spread(profile::StringId kernel, profile::StringId reason) const;
  [[nodiscard]] double dispersion(profile::StringId kernel, profile::StringId reason) const {
    return spread(kernel, reason).dispersion();
  }

 private:
  using Blocks = std::array<uint64_t, kBlocks>;
  static Blocks* blocks_of(std::unordered_map<uint64_t, size_t>& positions, std::vector<Blocks>& all, uint64_t key);
  void make_room(uint64_t slice);

  bool begun_ = false;
  uint64_t first_ = 0;  // slice
  uint64_t width_ = 1;  // slices a block
  std::unordered_map<uint64_t, size_t> kernels_;
  std::unordered_map<uint64_t, size_t> pairs_;  // by kernel and reason
  std::vector<Blocks> of_kernels_;
  std::vector<Blocks> of_pairs_;
};

// A share of a whole.
struct Interval {
  double low = 0;
  double high = 1;
};

// Where `part` of `whole` (at least 1) lies with a confidence of 95%: Wilson's interval of a sample that is smaller by
// the dispersion.
Interval share_interval(uint64_t part, uint64_t whole, double dispersion);

}  // namespace gpuprof::analyze
