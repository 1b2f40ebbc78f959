#include "cupti/exact_launches.h"

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "ipc/emit.h"
#include "ipc/ring.h"
#include "wire/wire.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint32_t kBits = 64;
constexpr uint32_t kWholeShare = 1U << 16;  // of gpuprof_segment.exact_share
constexpr uint64_t kMicrosecond = 1000;     // times are compared in these: shares of them fit into 64 bits

struct Exact {
  uint32_t wanted;    // atomic
  uint32_t captures;  // atomic, of all threads
  uint64_t begin_ns;
  uint64_t spent_ns;  // atomic
  uint64_t sampled;   // atomic, launches
  uint64_t missed;    // atomic, launches that were to be, and were not ...
  uint64_t too_dear;  // ... because of what it costs
};
constinit Exact exact = {};
constinit uint32_t launches[GPUPROF_CHOSEN_NAMES] = {};  // atomic, of chosen kernels by their names

bool chosen(const gpuprof_segment& segment, uint32_t kernel) {
  if ((segment.options.flags & GPUPROF_OPTION_ALL_KERNELS) != 0) {
    return true;
  }
  return kernel < GPUPROF_CHOSEN_NAMES &&
         (load_relaxed(&segment.chosen[kernel / kBits]) & uint64_t{1} << kernel % kBits) != 0;
}

bool affordable(uint32_t share) {
  const uint64_t allowed = (now_ns() - exact.begin_ns) / kMicrosecond * share;
  return load_relaxed(&exact.spent_ns) / kMicrosecond * kWholeShare <= allowed;
}

}  // namespace

void begin_exact_launches() {
  const gpuprof_options* wanted = options();
  exact = {};
  exact.begin_ns = now_ns();
  for (uint32_t& count : launches) {
    store_relaxed(&count, 0U);
  }
  constexpr uint32_t kFlags = GPUPROF_OPTION_SAMPLES | GPUPROF_OPTION_EXACT;
  store_relaxed(&exact.wanted, wanted != nullptr && (wanted->flags & kFlags) == kFlags ? 1U : 0U);
}

bool exact_wanted() {
  return load_relaxed(&exact.wanted) != 0;
}

bool wants_exact(uint32_t kernel) {
  const gpuprof_segment* segment = open_segment();
  if (segment == nullptr || kernel == 0 || load_relaxed(&exact.captures) != 0 || !chosen(*segment, kernel)) {
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

void charge_exact(uint64_t ns) {
  add_relaxed(&exact.spent_ns, ns);
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

void report_exact_counts() {
  if (exact_wanted()) {
    meta("sampling.exact_launches", load_relaxed(&exact.sampled));
    meta("sampling.exact_launches_missed", load_relaxed(&exact.missed));
    meta("sampling.exact_launches_too_dear", load_relaxed(&exact.too_dear));
    meta("sampling.exact_ns", load_relaxed(&exact.spent_ns));
  }
}

}  // namespace gpuprof::injection::cupti
