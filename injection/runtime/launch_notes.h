// What must be known of launches when their GPU work is done: the kernel's name, that they have no stack by choice,
// that they are not to be recorded, or that more than one piece of work follows. Launches that are not in the table are
// ordinary ones without a kernel.
#pragma once

#include <cstdint>

namespace gpuprof::injection {

enum LaunchFlags : uint32_t {
  kLaunchUnsampled = 1,  // has no stack, by gpuprof_segment.stack_share
  kLaunchOutside = 2,    // was made outside of options.nvtx_range
  kLaunchSeveral = 4     // causes more than one GPU_OP
};

struct LaunchNote {
  uint32_t flags;  // LaunchFlags
  uint32_t tid;
  uint32_t range;
  uint32_t name;  // id of the kernel's; 0: no kernel, or not known
};

// Without locks, from any thread. The table is a ring by correlation id, made at the first use: a note may be
// forgotten when ids have gone on by 2^17. False: no memory for the table.
bool remember_launch(uint64_t correlation, const LaunchNote& note);

// For a launch without a note: ids come round again.
void forget_launch(uint64_t correlation);

// False: nothing is known of it.
bool find_launch(uint64_t correlation, LaunchNote* note);

// Starts anew, for a new source. Only while no other thread can be in one of the functions above.
void reset_launches();

}  // namespace gpuprof::injection
