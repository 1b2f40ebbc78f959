// CUPTI ranges of one context in which kernels are sampled one at a time, so that samples have correlation ids. A range
// is open during the call that launches a chosen kernel. Concurrent ranges of several threads are one range to CUPTI.
// Samples can be read only while no range is open.
#pragma once

#include <cstdint>

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

struct ExactRanges {
  uint32_t lock;  // protects the fields below; held during CUPTI's calls for ranges
  uint32_t open;
  uint32_t generation;  // generation of the open ranges; ranges of earlier generations were closed by force
  uint32_t awaited;     // 1: a reader waits, so no range may be opened
  uint64_t opened_ns;
};

// A thread's range; generation 0: not open.
struct ExactRange {
  uint32_t generation;
  uint64_t opened_ns;
};

// Open and close a range on the launching thread; 0.4 us each. If a thread is reading samples, open_range() waits some
// milliseconds for the end of the read. It opens nothing if the read takes longer or CUPTI refuses.
ExactRange open_range(ExactRanges* ranges, CUcontext context);
void close_range(ExactRanges* ranges, CUcontext context, const ExactRange& range);

// Returns true if no range is open. Then no range opens until release_ranges(). Closes ranges that are open too long
// (their thread may have ended). With `may_wait`, waits some time until open ranges are closed.
bool hold_ranges(ExactRanges* ranges, CUcontext context, bool may_wait);
void release_ranges(ExactRanges* ranges);

}  // namespace gpuprof::injection::cupti
