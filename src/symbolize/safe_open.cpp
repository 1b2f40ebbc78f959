#include "symbolize/safe_open.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/files/file.h"

namespace gpuprof::symbolize {
namespace {

UniqueFd locate(int root_fd, const std::string& path, int extra_flags) {
  const int flags = O_PATH | O_CLOEXEC | extra_flags;
  if (root_fd < 0) {
    return UniqueFd(::open(path.c_str(), flags));
  }
  open_how how{};
  how.flags = static_cast<unsigned>(flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, root_fd, path.c_str(), &how, sizeof how);
  if (fd >= 0 || errno != ENOSYS) {
    return UniqueFd(static_cast<int>(fd));
  }
  // Before Linux 5.6, an absolute symbolic link leads out of the target's root, so the callers verify the opened
  // file.
  const size_t start = path.find_first_not_of('/');
  return start == std::string::npos ? UniqueFd{} : UniqueFd(::openat(root_fd, path.c_str() + start, flags));
}

// Uses the process's rights for the whole path, because each folder on the way requires them.
UniqueFd open_with(const FileAccess& access, const std::string& path, int extra_flags) {
  const ActAs as(access.rights_or_null());
  return as.ok() ? reopen_regular(locate(access.root_fd, path, extra_flags)) : UniqueFd{};
}

}  // namespace

UniqueFd open_regular(const FileAccess& access, const std::string& path) {
  return open_with(access, path, 0);
}

UniqueFd open_regular_no_link(const FileAccess& access, const std::string& path) {
  return open_with(access, path, O_NOFOLLOW);
}

UniqueFd open_folder(const FileAccess& access, const std::string& path) {
  const ActAs as(access.rights_or_null());
  return as.ok() ? locate(access.root_fd, path, O_DIRECTORY) : UniqueFd{};
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
  const UniqueFd location(::openat(dir_fd, name.c_str(), O_PATH | O_CLOEXEC));
  const ActAs as(rights);
  return as.ok() ? reopen_regular(location) : UniqueFd{};
}

}  // namespace gpuprof::symbolize
