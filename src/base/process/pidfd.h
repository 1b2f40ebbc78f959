// A descriptor of a process. Unlike a pid, it always refers to the same process.
#pragma once

#include <sys/types.h>

#include "base/unique_fd.h"

namespace gpuprof {

// Opens a descriptor of the process. On an error, such as an unknown pid, returns a closed descriptor and sets errno.
UniqueFd open_pidfd(pid_t pid);

bool has_ended(const UniqueFd& pidfd);

}  // namespace gpuprof
