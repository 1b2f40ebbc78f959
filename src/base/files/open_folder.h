// Opens output folders. If gpuprof runs as root, other users must not redirect its output by symbolic links.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof {

// Opens the folder `path` with O_PATH, component by component. An empty path is the current folder. Follows at most
// 40 symbolic links, and only links of root or of gpuprof's effective user.
Result<UniqueFd> open_folder(const std::string& path);

// Returns the current path of an open file. Empty if the file was removed, or has no path in this mount namespace.
std::string real_path(int fd);

}  // namespace gpuprof
