#include "base/files/safe_open.h"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace gpuprof {
namespace {

bool is_of_kind(const UniqueFd& location, mode_t kind) {
  struct stat status {};
  return location && ::fstat(location.get(), &status) == 0 && (status.st_mode & S_IFMT) == kind;
}

UniqueFd locate_in_root(int root_fd, const std::string& path, int flags) {
  if (root_fd < 0) {
    return locate(AT_FDCWD, path, flags);
  }
  open_how how{};
  how.flags = static_cast<unsigned>(O_PATH | O_CLOEXEC | flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, root_fd, path.c_str(), &how, sizeof how);
  if (fd >= 0 || errno != ENOSYS) {
    return UniqueFd(static_cast<int>(fd));
  }
  // Before Linux 5.6, an absolute symbolic link leads out of the target's root, so the callers verify the opened
  // file.
  const size_t start = path.find_first_not_of('/');
  return start == std::string::npos ? UniqueFd{} : locate(root_fd, path.substr(start), flags);
}

// Uses the process's rights for the whole path, because each folder on the way requires them.
UniqueFd open_with(const FileAccess& access, const std::string& path, int flags) {
  const ActAs as(access.rights_or_null());
  return as.ok() ? reopen_regular(locate_in_root(access.root_fd, path, flags)) : UniqueFd{};
}

}  // namespace

UniqueFd locate(int folder, const std::string& name, int flags) {
  return UniqueFd(::openat(folder, name.c_str(), O_PATH | O_CLOEXEC | flags));
}

UniqueFd reopen(int fd, int flags) {
  return UniqueFd(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), flags | O_NOCTTY | O_CLOEXEC));
}

UniqueFd reopen_regular(const UniqueFd& location, int flags) {
  return is_of_kind(location, S_IFREG) ? reopen(location.get(), flags | O_NONBLOCK) : UniqueFd();
}

UniqueFd open_regular(int folder, const std::string& name, int flags) {
  return reopen_regular(locate(folder, name, flags & O_NOFOLLOW), flags & ~O_NOFOLLOW);
}

UniqueFd open_device(const std::string& path) {
  const UniqueFd location = locate(AT_FDCWD, path);
  if (!location || is_of_kind(location, S_IFCHR)) {
    return location ? reopen(location.get(), O_RDWR) : UniqueFd();
  }
  errno = ENODEV;
  return {};
}

UniqueFd open_directory(int folder, const std::string& name) {
  return UniqueFd(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

UniqueFd open_process(pid_t pid) {
  return open_directory(AT_FDCWD, "/proc/" + std::to_string(pid));
}

UniqueFd create_file(int folder, const std::string& name, mode_t mode) {
  return UniqueFd(::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
}

bool create_folder(int folder, const std::string& name, mode_t mode) {
  return ::mkdirat(folder, name.c_str(), mode) == 0;
}

bool rename_entry(int folder, const std::string& from, const std::string& to) {
  return ::renameat(folder, from.c_str(), folder, to.c_str()) == 0;
}

UniqueFd open_regular(const FileAccess& access, const std::string& path) {
  return open_with(access, path, 0);
}

UniqueFd open_regular_no_link(const FileAccess& access, const std::string& path) {
  return open_with(access, path, O_NOFOLLOW);
}

UniqueFd open_folder(const FileAccess& access, const std::string& path) {
  const ActAs as(access.rights_or_null());
  return as.ok() ? locate_in_root(access.root_fd, path, O_DIRECTORY) : UniqueFd{};
}

bool is_trusted(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && (status.st_uid == 0 || status.st_uid == ::geteuid()) &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool counts_as_ours(int fd) {
  return ::geteuid() != 0 || is_trusted(fd);
}

UniqueFd open_regular_proc(int dir_fd, const std::string& name, const FileRights* rights) {
  const UniqueFd location = locate(dir_fd, name);
  const ActAs as(rights);
  return as.ok() ? reopen_regular(location) : UniqueFd{};
}

}  // namespace gpuprof
