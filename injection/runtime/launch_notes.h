// Stores facts about launches for their GPU work: the kernel's name, and whether the launch is ignored or causes
// several work items. A launch without a note is an ordinary one without a kernel.
#pragma once

#include <cstdint>

namespace gpuprof::injection {

enum LaunchFlags : uint32_t {
  kLaunchOutside = 1,  // the launch was outside of options.nvtx_range
  kLaunchSeveral = 2   // causes more than one GPU_OP
};

struct LaunchNote {
  uint32_t flags;  // LaunchFlags
  uint32_t name;   // id of the kernel's name; 0: the launch is not of a kernel, or the name is unknown
};

// Stores a note. Callable from any thread; takes no lock. The table is a ring indexed by correlation id: a note may be
// overwritten when ids have advanced by 2^17. Returns false if memory is exhausted.
bool remember_launch(uint64_t correlation, const LaunchNote& note);

// Removes another launch's old note from the slot of a launch that has no note.
void forget_launch(uint64_t correlation);

// Returns false if the launch has no note.
bool find_launch(uint64_t correlation, LaunchNote* note);

// Clears the table for a new source. No other thread may be in the functions above.
void reset_launches();

}  // namespace gpuprof::injection
