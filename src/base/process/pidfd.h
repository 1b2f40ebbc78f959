// A descriptor of a process. Unlike a pid, it always refers to the same process.
#pragma once

#include <sys/types.h>

#include "base/unique_fd.h"

namespace gpuprof {

// Closed, with errno set: the process does not exist, or no descriptor is left.
UniqueFd open_pidfd(pid_t pid);

bool has_ended(const UniqueFd& pidfd);

}  // namespace gpuprof
