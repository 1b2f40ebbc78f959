// Opens and creates files: the only functions of src/ that do, besides those of the other headers in this folder.
// gpuprof often runs as root, and others choose paths, or links in them. So gpuprof checks the kind of a file first.
// A path must never make it wait for a FIFO, wake a device, leave the target's root directory, or read what the target
// may not read.
//
// `folder` is an open folder, or AT_FDCWD. All descriptors are close-on-exec. On errors, the functions return a closed
// descriptor or false, and set errno.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/files/file_rights.h"
#include "base/unique_fd.h"

namespace gpuprof {

// Opens a file of any kind with O_PATH, which has no side effects. `flags`: O_NOFOLLOW, O_DIRECTORY.
UniqueFd locate(int folder, const std::string& name, int flags = 0);

// Opens the file of a descriptor again. It stays the same file, even if its name now belongs to another one.
UniqueFd reopen(int fd, int flags);

// Opens a regular file that locate() has found. Never blocks. Files of /proc and /sys are regular files, too. Returns a
// closed descriptor and keeps errno for other kinds of files. `flags`: the access mode, O_APPEND.
UniqueFd reopen_regular(const UniqueFd& location, int flags = O_RDONLY);

// Opens a regular file by its name: locate(), then reopen_regular(). `flags`: those of both.
UniqueFd open_regular(int folder, const std::string& name, int flags = O_RDONLY);

// Opens a character device for reading and writing. errno is ENODEV for other kinds of files.
UniqueFd open_device(const std::string& path);

// Opens a folder for listing or locking. Does not follow a symbolic link with its name.
UniqueFd open_directory(int folder, const std::string& name);

// Opens the folder /proc/PID.
UniqueFd open_process(pid_t pid);

// Creates a file for writing. Fails if the name exists, even as a symbolic link. The umask reduces `mode`.
UniqueFd create_file(int folder, const std::string& name, mode_t mode);

bool create_folder(int folder, const std::string& name, mode_t mode);

// Renames an entry of a folder. Replaces an existing entry with the name `to`.
bool rename_entry(int folder, const std::string& from, const std::string& to);

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

}  // namespace gpuprof
