#include "cupti/sampling/exact_launches.h"

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "cupti/chosen_kernels.h"
#include "ipc/emit.h"
#include "ipc/ring.h"
#include "runtime/lifecycle.h"
#include "wire/wire.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint32_t kWholeShare = 1U << 16;  // value of gpuprof_segment.exact_share for "no limit"
// Times are converted to us before they are multiplied by a share, so that the product fits into 64 bits.
constexpr uint64_t kMicrosecond = 1000;

struct Exact {
  uint32_t wanted;    // atomic
  uint32_t captures;  // atomic; number of graph captures in progress on all threads
  uint64_t begin_ns;
  uint64_t spent_ns;  // atomic
  uint64_t sampled;   // atomic; number of launches that were sampled
  uint64_t missed;    // atomic; number of selected launches that were not sampled
  uint64_t too_dear;  // atomic; number of launches not sampled because the time budget was used up
};
constinit Exact exact = {};
// Atomic; number of launches of each chosen kernel, indexed by name id.
constinit uint32_t launches[GPUPROF_CHOSEN_NAMES] = {};

bool affordable(uint32_t share) {
  const uint64_t allowed = (now_ns() - exact.begin_ns) / kMicrosecond * share;
  return load_relaxed(&exact.spent_ns) / kMicrosecond * kWholeShare <= allowed;
}

}  // namespace

void begin_exact_launches() {
  exact = {};
  exact.begin_ns = now_ns();
  for (uint32_t& count : launches) {
    store_relaxed(&count, 0U);
  }
  store_relaxed(&exact.wanted, wants(GPUPROF_OPTION_SAMPLES) && wants(GPUPROF_OPTION_EXACT) ? 1U : 0U);
}

bool exact_wanted() {
  return load_relaxed(&exact.wanted) != 0;
}

bool wants_exact(uint32_t kernel) {
  const gpuprof_segment* segment = open_segment();
  if (segment == nullptr || kernel == 0 || capturing() || !is_chosen_kernel(kernel)) {
    return false;
  }
  const uint32_t before = add_relaxed(&launches[kernel % GPUPROF_CHOSEN_NAMES], 1U);
  if (segment->exact_every > 1 && before % segment->exact_every != 0) {
    return false;
  }
  const bool afford = affordable(segment->exact_share);
  add_relaxed(&exact.too_dear, afford ? uint64_t{0} : uint64_t{1});
  return afford;
}

void count_exact(bool sampled) {
  add_relaxed(sampled ? &exact.sampled : &exact.missed, uint64_t{1});
}

// Charges a sampled launch to the time budget, except the first one. The first one initializes CUPTI, and those 0.3 s
// would use up the budget of a short program.
void charge_exact(uint64_t ns) {
  if (load_relaxed(&exact.sampled) > 1) {
    add_relaxed(&exact.spent_ns, ns);
  }
}

void note_capture(bool begins) {
  if (begins) {
    add_relaxed(&exact.captures, 1U);
    return;
  }
  uint32_t open = load_relaxed(&exact.captures);
  while (open != 0 && !swap_if(&exact.captures, open, open - 1)) {
    open = load_relaxed(&exact.captures);
  }
}

bool capturing() {
  return load_relaxed(&exact.captures) != 0;
}

void forget_captures() {
  store_relaxed(&exact.captures, 0U);
}

void report_exact_counts() {
  if (exact_wanted()) {
    meta("sampling.exact_launches", load_relaxed(&exact.sampled));
    meta("sampling.exact_launches_missed", load_relaxed(&exact.missed));
    meta("sampling.exact_launches_too_dear", load_relaxed(&exact.too_dear));
    meta("sampling.exact_ns", load_relaxed(&exact.spent_ns));
  }
}

}  // namespace gpuprof::injection::cupti
