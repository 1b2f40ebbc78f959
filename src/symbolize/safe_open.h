// Opens paths that others chose. gpuprof often runs as root. So a path of the target must never make it wait for a
// FIFO, wake a device, leave the target's root directory, or read what the target may not read.
#pragma once

#include <optional>
#include <string>

#include "base/files/file_rights.h"
#include "base/unique_fd.h"

namespace gpuprof::symbolize {

inline constexpr int kOwnRoot = -1;  // `root_fd` of gpuprof's own root directory

// How to open paths that a process names.
struct FileAccess {
  int root_fd = kOwnRoot;
  std::optional<FileRights> rights = {};  // nullopt: use gpuprof's own rights

  [[nodiscard]] const FileRights* rights_or_null() const { return rights ? &*rights : nullptr; }
};

// Opens a regular file for reading. `path` is absolute. It and all symbolic links in it are resolved inside the root
// directory. Returns a closed descriptor on errors and for other kinds of files. errno is EACCES if `access` does not
// permit reading.
UniqueFd open_regular(const FileAccess& access, const std::string& path);

// Like open_regular(), but the last component must not be a symbolic link.
UniqueFd open_regular_no_link(const FileAccess& access, const std::string& path);

// Opens a directory to use as `root_fd`. It stays usable after the end of the process and of its mount namespace.
UniqueFd open_folder(const FileAccess& access, const std::string& path);

// Opens a regular file by a name relative to the directory `dir_fd`. Follows magic links of /proc with gpuprof's
// rights, because the kernel decides where they lead. `rights` must allow reading the file itself; null: gpuprof's own.
UniqueFd open_regular_proc(int dir_fd, const std::string& name, const FileRights* rights);

// Returns whether only root and gpuprof's user can have written the open file.
bool is_trusted(int fd);

// Returns whether a file may use as much of gpuprof's memory as the user's own files. Returns true for all files if
// gpuprof is not root: a target then has the same rights as gpuprof, and files of the user are often group-writable.
bool counts_as_ours(int fd);

}  // namespace gpuprof::symbolize
