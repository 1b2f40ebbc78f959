#include "base/files/open_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/file.h"
#include "base/files/safe_open.h"
#include "base/return_if_error.h"
#include "base/text/hints.h"

namespace gpuprof {
namespace {

constexpr int kMaxLinks = 40;  // limit of the Linux kernel

Error errno_failure(int error) {
  return Error{std::strerror(error), hints::of_error(error, "name a file in an existing folder that you may write to")};
}

struct CloseListing {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The message of an Error is only the reason.
class Walk {
 public:
  // With `any_kind`, the last component may be a file of any kind, else it must be a folder.
  Walk(const std::string& path, bool any_kind) : path_(path), any_kind_(any_kind) {}

  Result<UniqueFd> run(int from) {
    at_ = locate(from, ".", O_DIRECTORY);
    add(path_);
    while (at_ && !ahead_.empty()) {
      const std::string name = std::move(ahead_.back());
      ahead_.pop_back();
      RETURN_IF_ERROR(step(name));
    }
    if (!at_) {
      return errno_failure(errno);
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
      return errno_failure(errno);
    }
    if (S_ISLNK(info.st_mode)) {
      return follow(next, name, info.st_uid);
    }
    if (!S_ISDIR(info.st_mode) && !(any_kind_ && ahead_.empty())) {
      return errno_failure(ENOTDIR);
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
      return Error{"'" + name + "' is a symbolic link of another user (uid " + std::to_string(owner) + ")",
                   "name what it leads to, if that is what you mean"};
    }
    // Reads the link that is open, because another user could replace the link with that name.
    const std::string text = link_text(link.get(), "");
    if (++links_ > kMaxLinks || text.empty()) {
      return errno_failure(text.empty() ? ENOENT : ELOOP);
    }
    add(text);
    return {};
  }

  const std::string& path_;
  bool any_kind_;
  UniqueFd at_;
  std::vector<std::string> ahead_;  // remaining components in reverse order
  int links_ = 0;
};

}  // namespace

Result<UniqueFd> open_folder(const std::string& path) {
  auto folder = Walk(path, false).run(AT_FDCWD);
  return folder ? std::move(folder)
                : Result<UniqueFd>(Error{"cannot use the folder " + path + ": " + folder.error().message,
                                         folder.error().hint, folder.error().exit_code});
}

Result<UniqueFd> open_place(int folder, const std::string& path) {
  return Walk(path, true).run(folder);
}

Result<UniqueFd> open_found(int folder, const std::string& path, const std::string& shown) {
  const auto place = open_place(folder, path);
  errno = 0;
  UniqueFd fd = place ? reopen_regular(*place) : UniqueFd();
  if (fd) {
    return fd;
  }
  const std::string why = !place       ? place.error().message
                          : errno != 0 ? std::strerror(errno)
                                       : "it is not a regular file";
  return Error{"cannot read " + shown + ": " + why, "move it elsewhere, or name the profiles one by one"};
}

Result<std::vector<std::string>> names_in(int folder, const std::string& shown, const NameFilter& fits) {
  UniqueFd fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseListing> listing(fd ? ::fdopendir(fd.get()) : nullptr);
  if (listing != nullptr) {
    fd.release();  // the listing owns it now
  } else {
    return Error{"cannot read the folder " + shown + ": " + std::strerror(errno), "name a folder that you may read"};
  }
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(listing.get())) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    if (const std::string_view name = entry->d_name; name != "." && name != ".." && (!fits || fits(name))) {
      names.emplace_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
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
