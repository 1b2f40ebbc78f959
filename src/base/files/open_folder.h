// Opens folders, and files that gpuprof finds in folders. If gpuprof runs as root, other users must not redirect it by
// symbolic links.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof {

// Opens the folder `path` with O_PATH, component by component. An empty path is the current folder. Follows at most
// 40 symbolic links, and only links of root or of gpuprof's effective user.
Result<UniqueFd> open_folder(const std::string& path);

// Opens whatever `path` names below the open folder (AT_FDCWD: the current folder) with O_PATH, which has no side
// effects. Follows symbolic links like open_folder().
Result<UniqueFd> open_place(int folder, const std::string& path);

// Opens a file for reading that gpuprof has found in a folder. Accepts only regular files, never blocks, and follows
// symbolic links like open_folder(). `shown` is the file's name in errors.
Result<UniqueFd> open_found(int folder, const std::string& path, const std::string& shown);

// Returns the names of the entries of an open folder, sorted, without "." and "..". Null: all of them.
using NameFilter = std::function<bool(std::string_view name)>;
Result<std::vector<std::string>> names_in(int folder, const std::string& shown, const NameFilter& fits = nullptr);

// Returns the current path of an open file. Empty if the file was removed, or has no path in this mount namespace.
std::string real_path(int fd);

}  // namespace gpuprof
