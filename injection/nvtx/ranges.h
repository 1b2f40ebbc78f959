// Tracks NVTX ranges, and finds the RANGE id of the calling thread. Ranges may begin long before there is a connection
// (cupti/nvtx.cpp). So a RANGE record is sent only when its path is first used. A launch's path begins with the
// process's open start/end ranges in order of their start. The thread's pushed ranges follow. A push allocates no
// memory. Callable from any thread, and after fork().
#pragma once

#include <cstdint>

#include "nvtx/range_names.h"

namespace gpuprof::injection {

// Returns the id of the thread's path of ranges; 0: the thread is in no range. Emits the RANGE records of a path at its
// first use. If nothing has changed, this costs two loads and a compare. Counts a launch as a lost detail
// (GPUPROF_LOSS_RANGE_LIMIT) if the path does not have the program's names.
[[nodiscard]] uint32_t current_range(bool is_launch);

// Returns whether the thread is in the range options()->nvtx_range ("NAME" in any domain, or "NAME@DOMAIN"). Returns
// true if that option is empty.
[[nodiscard]] bool in_wanted_range();

// Forgets all paths, because a new source has sent none. Call it when a connection is made, before it is used.
void reset_ranges();

// ---- events from NVTX ---------------------------------------------------------------------------------------

// Opens a range. Returns its nesting level in its domain on this thread; the outermost range has level 0.
int push_range(uint32_t domain, RangeLabel label);
// Closes the innermost range of the domain. Returns its level, or -1 if no range is open.
int pop_range(uint32_t domain);

// Opens a start/end range, which belongs to no thread. Returns its id, never 0.
uint64_t start_range(RangeLabel label);
void end_range(uint64_t id);

// Call it before all other functions of this file. Several threads may call it. Installs the fork handler.
void init_ranges();

}  // namespace gpuprof::injection
