// Ranges of one context in which CUPTI samples kernels one at a time, so that samples have correlation ids. A range is
// open while a thread is in the call that launches a chosen kernel; those of several threads are one to CUPTI. What was
// sampled can be read only while none is open.
#pragma once

#include <cstdint>

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

struct ExactRanges {
  uint32_t lock;  // of all below, and held in CUPTI's calls for ranges
  uint32_t open;
  uint32_t generation;  // of those that are open; another one: they were closed for their owners
  uint32_t awaited;     // somebody wants to read: none is opened meanwhile
  uint64_t opened_ns;
};

// A thread's range; generation 0: none.
struct ExactRange {
  uint32_t generation;
  uint64_t opened_ns;
};

// On the launching thread; some 0.4 us each. Waits while somebody reads, some milliseconds; none is opened where that
// takes longer, or CUPTI refuses.
ExactRange open_range(ExactRanges* ranges, CUcontext context);
void close_range(ExactRanges* ranges, CUcontext context, const ExactRange& range);

// True: none is open, and none will be until release_ranges(). Those that have been open for too long (their threads
// may have ended in the call) are closed. Where `may_wait`, waits some time for those that are open, while no others
// are opened.
bool hold_ranges(ExactRanges* ranges, CUcontext context, bool may_wait);
void release_ranges(ExactRanges* ranges);

}  // namespace gpuprof::injection::cupti
