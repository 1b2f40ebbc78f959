// CUPTI ranges of one context, in which kernels run and are sampled one at a time, so that samples have correlation
// ids. A range is open during the call that launches a chosen kernel. If several threads have ranges at once, these are
// one range to CUPTI. Samples can be read only while no range is open.
#pragma once

#include <cstdint>

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

struct ExactRanges {
  uint32_t lock;  // protects the fields below; held during CUPTI's calls for ranges
  uint32_t open;
  uint32_t generation;  // number of the current CUPTI range; ranges with earlier numbers have been closed by force
  uint32_t awaited;     // 1: a reader of samples waits, so no range may be opened
  uint64_t opened_ns;
};

// A thread's range. If `generation` is 0, it is not open.
struct ExactRange {
  uint32_t generation;
  uint64_t opened_ns;
};

// Open and close a range on the launching thread; each takes 0.4 us. If a thread is reading samples, open_range() waits
// up to some milliseconds for the end of the read. It opens nothing if the read takes longer or if CUPTI refuses.
ExactRange open_range(ExactRanges* ranges, CUcontext context);
void close_range(ExactRanges* ranges, CUcontext context, const ExactRange& range);

// Returns true if no range is open; then no range opens until release_ranges(). Closes ranges that have been open too
// long, because their thread may have ended. With `may_wait`, waits for a limited time until open ranges are closed.
bool hold_ranges(ExactRanges* ranges, CUcontext context, bool may_wait);
void release_ranges(ExactRanges* ranges);

}  // namespace gpuprof::injection::cupti
