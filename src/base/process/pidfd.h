// A descriptor of a process: it means that process for ever, which its number does not.
#pragma once

#include <sys/types.h>

#include "base/unique_fd.h"

namespace gpuprof {

// None, and errno: there is no such process, or no descriptor left.
UniqueFd open_pidfd(pid_t pid);

bool has_ended(const UniqueFd& pidfd);

}  // namespace gpuprof
