#include "base/files/open_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/file.h"
#include "base/files/safe_open.h"
#include "base/return_if_error.h"

namespace gpuprof {
namespace {

constexpr int kMaxLinks = 40;  // limit of the Linux kernel

Error folder_failure(const std::string& path, const std::string& why, std::string hint = {}) {
  return Error{"cannot use the folder " + path + ": " + why, std::move(hint)};
}

Error errno_failure(const std::string& path, int error) {
  return folder_failure(path, std::strerror(error), "name a file in an existing folder that you may write to");
}

class Walk {
 public:
  explicit Walk(const std::string& path) : path_(path) {}

  Result<UniqueFd> run() {
    at_ = locate(AT_FDCWD, ".", O_DIRECTORY);
    add(path_);
    while (at_ && !ahead_.empty()) {
      const std::string name = std::move(ahead_.back());
      ahead_.pop_back();
      RETURN_IF_ERROR(step(name));
    }
    if (!at_) {
      return errno_failure(path_, errno);
    }
    return std::move(at_);
  }

 private:
  // Puts the components of `path` in front of the remaining ones.
  void add(std::string_view path) {
    if (path.starts_with('/')) {
      at_ = locate(AT_FDCWD, "/", O_DIRECTORY);
    }
    while (!path.empty()) {
      const size_t slash = path.rfind('/');
      const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
      if (!name.empty() && name != ".") {
        ahead_.emplace_back(name);
      }
      path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
    }
  }

  Status step(const std::string& name) {
    UniqueFd next = locate(at_.get(), name, O_NOFOLLOW);
    struct stat info {};
    if (!next || ::fstat(next.get(), &info) != 0) {
      return errno_failure(path_, errno);
    }
    if (S_ISLNK(info.st_mode)) {
      return follow(next, name, info.st_uid);
    }
    if (!S_ISDIR(info.st_mode)) {
      return errno_failure(path_, ENOTDIR);
    }
    at_ = std::move(next);
    return {};
  }

  // Returns whether a link of this owner in the current folder may be followed. Links of root and of gpuprof's user
  // may be. In a user namespace, root may be an unmapped user. Then the owner of "/" also seems to own the files of
  // all other unmapped users. A link of that owner may be followed only in a folder of the same owner to which nobody
  // else may write.
  [[nodiscard]] bool is_trusted(uid_t owner) const {
    struct stat root {};
    struct stat folder {};
    if (owner == 0 || owner == ::geteuid()) {
      return true;
    }
    return ::stat("/", &root) == 0 && owner == root.st_uid && ::fstat(at_.get(), &folder) == 0 &&
           folder.st_uid == root.st_uid && (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  }

  Status follow(const UniqueFd& link, const std::string& name, uid_t owner) {
    if (!is_trusted(owner)) {
      return folder_failure(path_,
                            "'" + name + "' is a symbolic link of another user (uid " + std::to_string(owner) + ")",
                            "name the folder that it leads to, if that is where you want to write");
    }
    // Reads the link that is open, because another user could replace the link with that name.
    const std::string text = link_text(link.get(), "");
    if (++links_ > kMaxLinks || text.empty()) {
      return errno_failure(path_, text.empty() ? ENOENT : ELOOP);
    }
    add(text);
    return {};
  }

  const std::string& path_;
  UniqueFd at_;
  std::vector<std::string> ahead_;  // remaining components in reverse order
  int links_ = 0;
};

}  // namespace

Result<UniqueFd> open_folder(const std::string& path) {
  return Walk(path).run();
}

std::string real_path(int fd) {
  std::string path = link_text(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str());
  struct stat open {};
  struct stat found {};
  const bool same = ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &found) == 0 && open.st_dev == found.st_dev &&
                    open.st_ino == found.st_ino;
  return same ? path : std::string();
}

}  // namespace gpuprof
