// Lists the children of a process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuprof {

struct ChildrenLimits {
  size_t& tasks;     // threads that may be looked at; counted down
  size_t processes;  // in `to`
};

// Adds the children of a process to `to`. Stops at `until` (monotonic), but after one thread at the earliest, and at
// the limits. `proc`: the folder /proc. Adds nothing if the kernel does not list children.
void add_children(const std::string& proc, pid_t pid, uint64_t until, const ChildrenLimits& limits,
                  std::vector<pid_t>& to);

}  // namespace gpuprof
