#include "cmd/split/subset_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "base/files/file.h"
#include "base/files/open_folder.h"
#include "base/files/own_folder.h"
#include "base/files/safe_open.h"
#include "base/return_if_error.h"
#include "base/text/utf8.h"
#include "profile/writer.h"

namespace gpuprof::cmd {
namespace {

constexpr size_t kMostOfOne = size_t{256} << 10U;  // limit of the buffered bytes per file
constexpr size_t kMostOfAll = size_t{64} << 20U;
constexpr mode_t kFolderMode = 0777;  // the umask reduces it
constexpr mode_t kFileMode = 0644;
constexpr mode_t kPrivate = 0700;
constexpr mode_t kPermissions = 0777;

Error failure(const std::string& path, const std::string& why, std::string hint = "name another folder",
              int exit_code = kExitFailure) {
  return {"cannot write into " + escaped(path) + ": " + why, std::move(hint), exit_code};
}

bool has_entries(int parent, const std::string& entry) {
  const UniqueFd fd = open_directory(parent, entry);
  const auto names = names_in(fd.get(), entry);
  return names && !names->empty();
}

}  // namespace

Result<SubsetFolder> SubsetFolder::create(const std::string& path) {
  SubsetFolder made;
  made.path_ = path;
  while (made.path_.size() > 1 && made.path_.ends_with('/')) {
    made.path_.pop_back();
  }
  const size_t slash = made.path_.rfind('/');
  made.entry_ = slash == std::string::npos ? made.path_ : made.path_.substr(slash + 1);
  if (made.entry_.empty() || made.entry_ == "." || made.entry_ == "..") {
    return failure(path, "the profiles need a separate folder", "name one that does not exist", kExitUsage);
  }
  const std::string parent = slash == std::string::npos ? "." : made.path_.substr(0, slash + 1);
  auto opened = open_folder(parent);
  RETURN_IF_ERROR(opened);
  made.parent_ = std::move(opened).value();
  struct stat info {};
  struct stat before {};
  if (::fstatat(made.parent_.get(), made.entry_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISDIR(info.st_mode)) {
      return failure(path, "it exists and is not a folder", "name one that does not exist", kExitUsage);
    }
    if (!is_of_user_or_root(info)) {
      return failure(path, "it belongs to another user (uid " + std::to_string(info.st_uid) + ")",
                     "name one that does not exist", kExitUsage);
    }
    if (has_entries(made.parent_.get(), made.entry_)) {
      return failure(path, "the folder is not empty", "name one that does not exist, or is empty", kExitUsage);
    }
    before = info;
  }
  std::random_device random;
  const std::string temporary =
      "." + made.entry_.substr(0, NAME_MAX / 2) + "." + std::to_string(::getpid()) + "." + std::to_string(random());
  if (!create_folder(made.parent_.get(), temporary, kFolderMode)) {
    return failure(path, std::strerror(errno), "name another folder, where you may write");
  }
  made.temporary_ = temporary;
  made.folder_ = open_directory(made.parent_.get(), temporary);
  if (!made.folder_ || ::fstat(made.folder_.get(), &info) != 0) {
    return failure(path, std::strerror(errno));
  }
  // The owner of the parent folder may have replaced the new folder by another one.
  if (info.st_uid != ::geteuid()) {
    made.temporary_.clear();
    return failure(path, "another user replaced the new folder");
  }
  made.mode_ = info.st_mode & (kPermissions | S_ISGID);
  ::fchmod(made.folder_.get(), kPrivate | (info.st_mode & S_ISGID));
  // If the new folder replaces an old one, it gets the same group, and at most the permissions of the old one.
  if (before.st_mode != 0) {
    made.mode_ &= before.st_mode;
    made.group_ = before.st_gid;
  }
  return made;
}

SubsetFolder::~SubsetFolder() {
  if (temporary_.empty() || !parent_) {
    return;
  }
  for (const File& file : files_) {
    ::unlinkat(folder_.get(), file.name.c_str(), 0);
  }
  ::unlinkat(parent_.get(), temporary_.c_str(), AT_REMOVEDIR);
}

Result<size_t> SubsetFolder::add(const std::string& name) {
  File& file = files_.emplace_back(File{name + ".txt", {}});
  if (!create_file(folder_.get(), file.name, kFileMode)) {
    return failure(path_, file.name + ": " + std::strerror(errno));
  }
  profile::format_header(file.waiting);
  waiting_ += file.waiting.size();
  return files_.size() - 1;
}

Status SubsetFolder::put(size_t file, const profile::Record& record) {
  std::string& waiting = files_[file].waiting;
  const size_t before = waiting.size();
  profile::format_line(record, waiting);
  waiting_ += waiting.size() - before;
  if (waiting.size() >= kMostOfOne) {
    return flush(files_[file]);
  }
  return waiting_ >= kMostOfAll ? flush_all() : Status();
}

Status SubsetFolder::flush(File& file) {
  if (file.waiting.empty()) {
    return {};
  }
  UniqueFd fd = open_regular(folder_.get(), file.name, O_WRONLY | O_APPEND | O_NOFOLLOW);
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    return failure(path_, file.name + ": " + std::strerror(errno));
  }
  if (info.st_uid != ::geteuid() || info.st_nlink != 1) {
    return failure(path_, file.name + ": another program replaced the file");
  }
  const std::string shown = path_ + "/" + file.name;
  RETURN_IF_ERROR(write_all(fd.get(), file.waiting, shown));
  RETURN_IF_ERROR(close_written(std::move(fd), shown));
  bytes_ += file.waiting.size();
  waiting_ -= file.waiting.size();
  file.waiting = {};  // frees the buffer, because there may be thousands of files
  return {};
}

Status SubsetFolder::flush_all() {
  for (File& file : files_) {
    RETURN_IF_ERROR(flush(file));
  }
  return {};
}

Status SubsetFolder::finish() {
  RETURN_IF_ERROR(flush_all());
  if (group_) {
    (void)!::fchown(folder_.get(), static_cast<uid_t>(-1), *group_);  // may fail unless gpuprof is root
  }
  ::fchmod(folder_.get(), mode_);
  // Can replace an empty folder, but nothing else.
  if (!rename_entry(parent_.get(), temporary_, entry_)) {
    const bool taken = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;
    return taken ? failure(path_, "another program created a file or folder there")
                 : failure(path_, std::strerror(errno));
  }
  temporary_.clear();
  return {};
}

}  // namespace gpuprof::cmd
