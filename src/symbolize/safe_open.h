// Opening paths that somebody else chose. gpuprof often runs as root, so a path of the target must never make it wait
// on a FIFO, wake a device, leave the target's root directory, or read what the target may not.
#pragma once

#include <optional>
#include <string>

#include "base/files/file_rights.h"
#include "base/unique_fd.h"

namespace gpuprof::symbolize {

inline constexpr int kOwnRoot = -1;  // as `root_fd`: paths are meant as we see them

// How the paths that a process names are opened.
struct FileAccess {
  int root_fd = kOwnRoot;
  std::optional<FileRights> rights = {};  // nothing: our own

  [[nodiscard]] const FileRights* rights_or_null() const { return rights ? &*rights : nullptr; }
};

// Opens a regular file for reading. `path` is absolute and resolved inside the root directory, symbolic links
// included. Anything but a regular file gives a closed descriptor, as does any error.
UniqueFd open_regular(const FileAccess& access, const std::string& path);

// The same, but the last component must not be a symbolic link.
UniqueFd open_regular_no_link(const FileAccess& access, const std::string& path);

// Opens a regular file by a name relative to the directory `dir_fd`, following magic links of /proc with our own
// rights: the kernel says where they lead. The file itself must be readable with `rights`; null: with our own.
UniqueFd open_regular_proc(int dir_fd, const std::string& name, const FileRights* rights);

// Whether nobody but root and our own user can have written what is in an open file.
bool is_trusted(int fd);

// Whether a file may take of our memory what the user's own may: any, where we are not root. Then a target has no fewer
// rights than we, and the user's own files are often writable by their group.
bool counts_as_ours(int fd);

}  // namespace gpuprof::symbolize
