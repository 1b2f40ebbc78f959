// Folders to write in. gpuprof often runs as root, and another user who can put a symbolic link on the way to an output
// must not choose where root writes.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof {

// Opens the folder `path` as a place (O_PATH), component by component; an empty path is the current folder. Symbolic
// links on the way are followed where they belong to root or to our effective user, 40 of them at most.
Result<UniqueFd> open_folder(const std::string& path);

// The path at which what is open can be found now; empty where it has been removed, or is out of our sight.
std::string real_path(int fd);

}  // namespace gpuprof
