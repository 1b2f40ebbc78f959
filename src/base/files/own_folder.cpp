#include "base/files/own_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/files/open_folder.h"
#include "base/return_if_error.h"

namespace gpuprof {
namespace {

constexpr mode_t kOwnFolderMode = 0755;  // whatever the umask: others must not be able to write

Error unusable_folder(const std::string& path, const std::string& why, std::string hint = "name another folder") {
  return Error{"cannot use the folder " + path + ": " + why, std::move(hint)};
}

// Returns the path of the parent folder and the name in it.
std::pair<std::string, std::string> parent_and_name(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  const size_t name = path.rfind('/') + 1;  // 0 without a slash
  return {path.substr(0, name), path.substr(name)};
}

UniqueFd open_entry(int parent, const std::string& name) {
  return UniqueFd(::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

bool is_of_user_or_root(const struct stat& info) {
  return info.st_uid == 0 || info.st_uid == ::geteuid();
}

bool others_can_write(const struct stat& info) {
  const bool group = (info.st_mode & S_IWGRP) != 0 && (::geteuid() == 0 || info.st_gid != ::getegid());
  return group || (info.st_mode & S_IWOTH) != 0;
}

Result<OwnFolder> OwnFolder::checked(UniqueFd fd, const std::string& path) {
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    return unusable_folder(path, std::strerror(errno));
  }
  if (!is_of_user_or_root(info)) {
    return unusable_folder(path, "it belongs to another user (uid " + std::to_string(info.st_uid) + ")",
                           "name a new folder, or one of your own");
  }
  if (others_can_write(info)) {
    return unusable_folder(path, "other users can write into it", "name a new folder, or: chmod go-w FOLDER");
  }
  return OwnFolder(std::move(fd), path);
}

Result<std::optional<OwnFolder>> OwnFolder::make(const std::string& path) {
  const auto [parent_path, name] = parent_and_name(path);
  const auto parent = open_folder(parent_path);
  if (!parent) {
    return Error{"cannot make the folder " + path + ": " + parent.error().message, parent.error().hint};
  }
  if (::mkdirat(parent->get(), name.c_str(), kOwnFolderMode) != 0) {
    return errno == EEXIST ? Result<std::optional<OwnFolder>>(std::nullopt)
                           : unusable_folder(path, std::strerror(errno));
  }
  auto made = checked(open_entry(parent->get(), name), path);
  RETURN_IF_ERROR(made);
  return std::optional(std::move(made).value());
}

Result<OwnFolder> OwnFolder::open(const std::string& path, IfMissing if_missing) {
  if (if_missing != IfMissing::fail && ::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    if (const auto [parent, name] = parent_and_name(path);
        if_missing == IfMissing::make_with_parents && !parent.empty() && ::access(parent.c_str(), F_OK) != 0) {
      RETURN_IF_ERROR(open(parent, if_missing));
    }
    auto made = make(path);
    RETURN_IF_ERROR(made);
    if (*made) {
      return std::move(**made);
    }
  }
  auto folder = open_folder(path);
  RETURN_IF_ERROR(folder);
  return checked(std::move(*folder), path);
}

Result<OwnFolder> OwnFolder::enter(const std::string& name, IfMissing if_missing) const {
  if (if_missing != IfMissing::fail && ::mkdirat(fd_.get(), name.c_str(), kOwnFolderMode) != 0 && errno != EEXIST) {
    return unusable_folder(path_of(name), std::strerror(errno));
  }
  return checked(open_entry(fd_.get(), name), path_of(name));
}

bool OwnFolder::has(const std::string& name) const {
  struct stat info {};
  return ::fstatat(fd_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

Result<std::vector<std::string>> OwnFolder::names() const {
  return names_in(fd_.get(), path_);
}

Result<UniqueFd> OwnFolder::read(const std::string& name) const {
  return open_found(fd_.get(), name, path_of(name));
}

Status OwnFolder::move_entry(const std::string& from, const std::string& to) const {
  return ::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) == 0
             ? Status()
             : Status(unusable_folder(path_of(to), std::strerror(errno)));
}

void OwnFolder::remove(const std::string& name) const {
  const UniqueFd folder = open_entry(fd_.get(), name);
  if (const auto names = folder ? names_in(folder.get(), name) : Result<std::vector<std::string>>(Error{})) {
    for (const std::string& file : *names) {
      ::unlinkat(folder.get(), file.c_str(), 0);
    }
  }
  ::unlinkat(fd_.get(), name.c_str(), AT_REMOVEDIR);
}

std::string OwnFolder::place() const {
  const auto found = open_folder(path_);
  struct stat ours {};
  struct stat there {};
  const bool same = found && ::fstat(fd_.get(), &ours) == 0 && ::fstat(found->get(), &there) == 0 &&
                    ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
  return same ? path_ : real_path(fd_.get());
}

std::string OwnFolder::path_of(const std::string& name) const {
  return path_ + (path_.ends_with('/') ? "" : "/") + name;
}

}  // namespace gpuprof
