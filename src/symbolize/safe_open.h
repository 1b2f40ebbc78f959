// Opening paths that somebody else chose. gpuprof often runs as root, so a path of the target must never make it wait
// on a FIFO, wake a device, or leave the target's root directory.
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace gpuprof::symbolize {

inline constexpr int kOwnRoot = -1;  // as `root_fd`: paths are meant as we see them

// Opens a regular file for reading. `path` is absolute and resolved inside the directory `root_fd`, symbolic links
// included. Anything but a regular file gives a closed descriptor, as does any error.
UniqueFd open_regular(int root_fd, const std::string& path);

// The same, but the last component must not be a symbolic link.
UniqueFd open_regular_no_link(int root_fd, const std::string& path);

// Opens a regular file by a name relative to the directory `dir_fd`, following magic links of /proc.
UniqueFd open_regular_proc(int dir_fd, const std::string& name);

}  // namespace gpuprof::symbolize
