// Keeps what recording costs a target within --max-overhead, by lowering the share of its launches that get a stack.
#pragma once

#include <cstdint>

#include "wire/wire.h"

namespace gpuprof::record {

// One a source. GPU times are complete whatever the share is.
class OverheadLimiter {
 public:
  // `percent` of the time of a thread that does nothing but launch; 0: no limit.
  explicit OverheadLimiter(double percent) : allowed_(percent / 100) {}

  // Counters of the source so far (as in gpuprof_ring, all rings together), at `now_ns`; to be called each
  // kIntervalNs. Returns the share for the time to come, in 1/GPUPROF_ALL_STACKS.
  uint32_t update(uint64_t launches, uint64_t samples, uint64_t sampled_ns, uint64_t now_ns);

  [[nodiscard]] uint32_t share() const { return share_; }
  // Whether the least share there is still costs too much.
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
