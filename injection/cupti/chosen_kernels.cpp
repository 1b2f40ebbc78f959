#include "cupti/chosen_kernels.h"

#include <ctime>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "ipc/ring.h"
#include "runtime/lifecycle.h"
#include "wire/wire.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint32_t kBits = 64;
constexpr uint64_t kDecisionNs = 5 * GPUPROF_POLL_NS;
constexpr long kPauseNs = 200000;

// Waits until the recorder has decided about the kernel.
bool is_decided(const gpuprof_segment& segment, uint32_t kernel) {
  const uint64_t* const word = &segment.decided[kernel / kBits];
  const uint64_t bit = uint64_t{1} << kernel % kBits;
  if ((load_acquire(word) & bit) != 0) {
    return true;
  }
  const uint64_t deadline = now_ns() + kDecisionNs;
  while (!recorder_silent() && now_ns() < deadline) {
    const timespec pause = {0, kPauseNs};
    nanosleep(&pause, nullptr);
    if ((load_acquire(word) & bit) != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_chosen_kernel(uint32_t kernel) {
  const gpuprof_segment* segment = open_segment();
  if (segment == nullptr || kernel == 0) {
    return false;
  }
  if ((segment->options.flags & GPUPROF_OPTION_ALL_KERNELS) != 0) {
    return true;
  }
  return kernel < GPUPROF_CHOSEN_NAMES && is_decided(*segment, kernel) &&
         (load_relaxed(&segment->chosen[kernel / kBits]) & uint64_t{1} << kernel % kBits) != 0;
}

}  // namespace gpuprof::injection::cupti
