// Keeps a target's recording overhead within --max-overhead by lowering the share of its launches that get a stack.
#pragma once

#include <cstdint>

#include "wire/wire.h"

namespace gpuprof::record {

// Each source has its own limiter. GPU times stay complete, whatever the share is.
class OverheadLimiter {
 public:
  // `percent` limits the time that all threads together take to record launches, relative to elapsed time. 0: no limit.
  explicit OverheadLimiter(double percent) : allowed_(percent / 100) {}

  // Call it every kIntervalNs with the source's counters since its start, added up over all rings (see gpuprof_ring).
  // Returns the share for the next interval, in units of 1/GPUPROF_ALL_STACKS.
  uint32_t update(uint64_t launches, uint64_t samples, uint64_t sampled_ns, uint64_t now_ns);

  [[nodiscard]] uint32_t share() const { return share_; }
  // Returns whether the overhead exceeds the limit even at the smallest allowed share.
  [[nodiscard]] bool exceeded() const { return exceeded_; }

  static constexpr uint64_t kIntervalNs = 100'000'000;

 private:
  double allowed_;
  uint32_t share_ = GPUPROF_ALL_STACKS;
  bool exceeded_ = false;
  uint64_t launches_ = 0;
  uint64_t samples_ = 0;
  uint64_t sampled_ns_ = 0;
  uint64_t begun_ns_ = 0;
  uint64_t updated_ns_ = 0;
};

}  // namespace gpuprof::record
