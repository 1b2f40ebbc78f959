// NVTX ranges: which ones the calling thread is in, as the id of a RANGE record. What opens and closes them
// (cupti/nvtx.cpp) may begin long before there is a connection; ranges are kept, and told once they are used.
//
// A launch's path is the process's open start/end ranges in the order of their start, then the thread's pushes. Nothing
// here allocates memory for a push. Safe from any thread, and in the child of a fork().
#pragma once

#include <cstdint>

#include "nvtx/range_names.h"

namespace gpuprof::injection {

// The id of the calling thread's path of ranges for the probe and the records; 0: in none. Emits RANGE records at the
// first use of a path. Two loads and a compare when nothing has changed since the thread's last call.
[[nodiscard]] uint32_t current_range();

// Whether the thread is in the range that options()->nvtx_range names: "NAME" in any domain, or "NAME@DOMAIN". True
// where none is named.
[[nodiscard]] bool in_wanted_range();

// All paths are new again, for a new source. Called when a connection is made, before it is used.
void reset_ranges();

// ---- what NVTX says -----------------------------------------------------------------------------------------

// The level of the range in its domain on this thread, outermost 0.
int push_range(uint32_t domain, RangeLabel label);
// The innermost range of the domain ends. Returns its level, or -1 where there is none.
int pop_range(uint32_t domain);

// A range that belongs to no thread. Never 0.
uint64_t start_range(RangeLabel label);
void end_range(uint64_t id);

// To be called before any of the above, by any number of threads: installs the fork handler.
void init_ranges();

}  // namespace gpuprof::injection
