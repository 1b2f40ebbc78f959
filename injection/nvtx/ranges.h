// Tracks NVTX ranges: finds the RANGE id of the calling thread. Ranges may begin long before there is a connection
// (cupti/nvtx.cpp), so a RANGE record is sent when its path is first used. A launch's path is the process's open
// start/end ranges in order of their start, then the thread's pushed ranges. A push allocates no memory. Callable from
// any thread, and after fork().
#pragma once

#include <cstdint>

#include "nvtx/range_names.h"

namespace gpuprof::injection {

// Returns the id of the thread's path of ranges; 0: no range. Emits RANGE records at the first use of a path. Costs two
// loads and a compare if nothing has changed.
[[nodiscard]] uint32_t current_range();

// Returns whether the thread is in options()->nvtx_range ("NAME" in any domain, or "NAME@DOMAIN"). True if that is
// empty.
[[nodiscard]] bool in_wanted_range();

// Forgets all paths, for a new source. Called when a connection is made, before it is used.
void reset_ranges();

// ---- events from NVTX ---------------------------------------------------------------------------------------

// Opens a range. Returns its nesting level in its domain on this thread; the outermost is 0.
int push_range(uint32_t domain, RangeLabel label);
// Closes the innermost range of the domain. Returns its level; -1: no open range.
int pop_range(uint32_t domain);

// Opens a start/end range, which belongs to no thread. Returns its id, never 0.
uint64_t start_range(RangeLabel label);
void end_range(uint64_t id);

// Call it before all other functions of this file. Several threads may call it. Installs the fork handler.
void init_ranges();

}  // namespace gpuprof::injection
