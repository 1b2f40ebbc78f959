#include "base/files/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/files/file.h"
#include "base/files/open_folder.h"
#include "base/files/own_folder.h"
#include "base/files/safe_open.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/hints.h"
#include "base/text/numbers.h"

namespace gpuprof {
namespace {

constexpr mode_t kPermissions = 0777;
// A temporary name starts with at most this much of the name. A file name may have 255 bytes, and a suffix follows.
constexpr size_t kMaxTemporaryStart = 200;

Error failure(const std::string& what, const std::string& why, std::string hint = "name another file") {
  return Error{what + ": " + why, std::move(hint)};
}

Error failed_call(const std::string& what, const char* hint = "name another file") {
  const int error = errno;
  return failure(what, std::strerror(error), hints::of_error(error, hint));
}

std::string folder_of(const std::string& name) {
  return name.substr(0, name.rfind('/') + 1);
}

// In a sticky folder, a file may be replaced only by root, by the owner of the file and by the owner of the folder.
bool may_replace(const struct stat& folder, const struct stat& entry) {
  const uid_t self = ::geteuid();
  return self == 0 || (folder.st_mode & S_ISVTX) == 0 || entry.st_uid == self || folder.st_uid == self;
}

// Returns whether a symbolic link of gpuprof's user or root leads to a special file. A regular file must not
// replace such a link.
bool leads_to_special(int folder, const std::string& entry, const struct stat& link) {
  struct stat target {};
  return (link.st_uid == 0 || link.st_uid == ::geteuid()) && ::fstatat(folder, entry.c_str(), &target, 0) == 0 &&
         !S_ISREG(target.st_mode);
}

// Returns whether a file is a mount point, as in containers. A rename cannot replace it.
bool is_mounted(int folder, const std::string& entry) {
  struct statx there {};
  struct statx here {};
  return ::statx(folder, entry.c_str(), AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &there) == 0 &&
         ::statx(folder, "", AT_EMPTY_PATH, STATX_MNT_ID, &here) == 0 &&
         (there.stx_mask & here.stx_mask & STATX_MNT_ID) != 0 && there.stx_mnt_id != here.stx_mnt_id;
}

// Locks out other writers, while this one checks and takes a name. The wait is limited, because other users may hold
// the lock.
class FolderLock {
 public:
  explicit FolderLock(int folder) : fd_(open_directory(folder, ".")) {
    constexpr int kTries = 100;
    constexpr int kStepMs = 10;
    for (int i = 0; fd_ && i < kTries && ::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++i) {
      ::poll(nullptr, 0, kStepMs);
    }
  }

 private:
  UniqueFd fd_;
};

// Returns a lock of a complete file.
struct flock write_lock() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Returns a random name, so that another user cannot have created a file with that name before.
Result<std::string> temporary_name(const std::string& entry) {
  uint64_t random = 0;
  if (::getrandom(&random, sizeof(random), 0) != static_cast<ssize_t>(sizeof(random))) {
    return failure("getrandom", std::strerror(errno), {});
  }
  char suffix[24];
  std::snprintf(suffix, sizeof(suffix), ".new.%016llx", static_cast<unsigned long long>(random));
  return entry.substr(0, kMaxTemporaryStart) + suffix;
}

// Returns the name of a descriptor's file for messages. While `check` records, its file has a temporary name.
std::string shown_name(int descriptor, const std::string& name) {
  constexpr size_t kSuffix = std::string_view(".new.0123456789abcdef").size();
  struct stat info {};
  if (descriptor <= STDERR_FILENO || ::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink == 0) {
    return name == "-" ? "stdout" : name;
  }
  const std::string path = real_path(descriptor);
  const size_t end = path.size() - std::min(path.size(), kSuffix);
  return path.compare(end, 5, ".new.") == 0 ? path.substr(0, end) : path;
}

}  // namespace

std::string numbered_name(const std::string& name, const std::string& number) {
  const size_t begin = folder_of(name).size();
  const size_t dot = name.rfind('.');
  const size_t at = dot == std::string::npos || dot <= begin ? name.size() : dot;
  return name.substr(0, at) + "." + number + name.substr(at);
}

Result<OutputFile> OutputFile::open(const std::string& name, const OutputOptions& options) {
  const auto descriptor = name == "-" ? std::optional<int>(STDOUT_FILENO) : descriptor_named(name);
  if (!descriptor && name.empty()) {
    return Error{"the name of the output is empty", "name a file, or - for stdout"};
  }
  if (!descriptor) {
    const auto folder = open_folder(folder_of(name));
    return folder ? open_in(*folder, name, options)
                  : Error{"cannot write " + name + ": " + folder.error().message, folder.error().hint};
  }
  const std::string shown = shown_name(*descriptor, name);
  auto fd = duplicate_for_writing(*descriptor, shown);
  RETURN_IF_ERROR(fd);
  if (*descriptor > STDERR_FILENO) {
    ::fcntl(*descriptor, F_SETFD, FD_CLOEXEC);  // programs that gpuprof starts must not write into the output
  }
  return OutputFile(std::move(fd).value(), shown);
}

Result<OutputFile> OutputFile::open_in(const UniqueFd& folder, const std::string& name, const OutputOptions& options) {
  OutputFile file(UniqueFd(), name);
  file.entry_ = name.substr(folder_of(name).size());
  if (file.entry_.empty() || file.entry_ == "." || file.entry_ == "..") {
    return failure("cannot write " + name, std::strerror(EISDIR), "name a file in it");
  }
  file.folder_.reset(::fcntl(folder.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!file.folder_) {
    return failure("cannot write " + name, std::strerror(errno), hints::kMoreFiles);
  }
  const UniqueFd there = locate(file.folder_.get(), file.entry_, O_NOFOLLOW);
  struct stat info {};
  if (there ? ::fstat(there.get(), &info) != 0 : errno != ENOENT) {
    return failed_call("cannot write " + name);
  }
  const mode_t kind = info.st_mode & S_IFMT;
  if (there && kind == S_IFDIR) {
    return failure("cannot write " + name, std::strerror(EISDIR), "name a file in it");
  }
  // `name` may be another path of /dev/stdout. It then means the descriptor, even if /dev does not contain it. Root
  // must not create or replace a file in /dev.
  if (const std::string path = real_path(file.folder_.get()) + "/" + file.entry_;
      path != name && descriptor_named(path)) {
    return open(path, options);
  }
  if (there && kind != S_IFREG && kind != S_IFLNK) {
    auto fd = open_special(there, info, name, options.stop);
    RETURN_IF_ERROR(fd);
    return OutputFile(std::move(fd).value(), name);
  }
  file.keep_old_ = options.keep_old;
  file.busy_hint_ = options.busy_hint;
  file.is_worthless_ = options.is_worthless;
  if (file.is_being_written()) {
    file.take_another_name();
  }
  Status made = there ? file.check_replaceable() : Status();
  if (made) {
    made = file.make_temporary(options.mode);
    if (made && kind == S_IFREG) {
      file.narrow(info.st_mode);
    }
  }
  RETURN_IF_ERROR(made);
  return file;
}

Status OutputFile::check_replaceable() const {
  struct stat folder {};
  struct stat info {};
  if (::fstat(folder_.get(), &folder) != 0 ||
      ::fstatat(folder_.get(), entry_.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Status() : failed_call("cannot write " + name_);
  }
  if (!may_replace(folder, info)) {
    return failure("cannot write " + name_, "it belongs to another user, and its folder is sticky");
  }
  if (S_ISLNK(info.st_mode) && leads_to_special(folder_.get(), entry_, info)) {
    return failure("cannot write " + name_, "it is a symbolic link to something that is not a regular file",
                   "name what it leads to, or - for stdout");
  }
  if (is_mounted(folder_.get(), entry_)) {
    return failure("cannot write " + name_, "it is a mount point, which no file can replace",
                   "name a file in a folder that is mounted, or - for stdout");
  }
  return keep_old_ && S_ISREG(info.st_mode) && info.st_size > 0 ? check_old(folder) : Status();
}

Status OutputFile::check_old(const struct stat& folder) const {
  struct stat info {};
  const std::string what = "cannot keep the old " + name_ + " as " + name_ + ".old";
  if (::fstatat(folder_.get(), (entry_ + ".old").c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Status() : failed_call(what);
  }
  if (S_ISDIR(info.st_mode)) {
    return failure(what, "that is a directory", "move " + name_ + ".old away, or name another file");
  }
  return may_replace(folder, info) ? Status() : failure(what, "that belongs to another user, and the folder is sticky");
}

Status OutputFile::make_temporary(mode_t mode) {
  auto temporary = temporary_name(entry_);
  RETURN_IF_ERROR(temporary);
  fd_ = create_file(folder_.get(), *temporary, mode);
  if (!fd_) {
    return failed_call("cannot write " + name_, "name another file, in a folder that you may write");
  }
  temporary_ = std::move(*temporary);
  struct flock writing = write_lock();
  ::fcntl(fd_.get(), F_OFD_SETLK, &writing);  // shows other processes that the file is still being written
  file_.reset(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  return file_ ? Status() : failure("cannot write " + name_, std::strerror(errno), hints::kMoreFiles);
}

// Removes permissions that the replaced file did not have, so that a private file stays private. Adds no permissions,
// because the replaced file may have had another owner or group.
void OutputFile::narrow(mode_t before) const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) == 0) {
    ::fchmod(fd_.get(), info.st_mode & before & kPermissions);
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      file_(std::move(other.file_)),
      folder_(std::move(other.folder_)),
      entry_(std::move(other.entry_)),
      keep_old_(other.keep_old_),
      busy_hint_(other.busy_hint_),
      is_worthless_(other.is_worthless_),
      temporary_(std::exchange(other.temporary_, {})),
      name_(std::move(other.name_)) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) {
    ::unlinkat(folder_.get(), temporary_.c_str(), 0);
  }
}

bool OutputFile::would_lose_old() const {
  struct stat old {};
  if (is_worthless_ == nullptr || ::fstatat(folder_.get(), (entry_ + ".old").c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(old.st_mode) || old.st_size == 0) {
    return false;
  }
  const UniqueFd there = open_regular(folder_.get(), entry_, O_NOFOLLOW);
  return there && is_worthless_(there.get());
}

// Renames the existing file to NAME.old, unless it is empty or a symbolic link.
Status OutputFile::rotate() const {
  struct stat info {};
  if (!keep_old_ || ::fstatat(folder_.get(), entry_.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(info.st_mode) || info.st_size == 0) {
    return {};
  }
  if (would_lose_old()) {
    log::warn("the earlier " + name_ + " holds no GPU work, so it is replaced. " + name_ + ".old stays as it is");
    return {};
  }
  if (!rename_entry(folder_.get(), entry_, entry_ + ".old")) {
    return failed_call("cannot keep the old " + name_ + " as " + name_ + ".old");
  }
  return {};
}

// Returns whether another process of root or gpuprof's user still writes the file, most likely gpuprof. Only processes
// that may write a file can hold a write lock on it, so other users cannot make gpuprof take another name.
bool OutputFile::is_being_written() const {
  const UniqueFd there = keep_old_ ? open_regular(folder_.get(), entry_, O_NOFOLLOW) : UniqueFd();
  struct stat info {};
  struct flock lock = write_lock();
  lock.l_type = F_RDLCK;
  return there && ::fstat(there.get(), &info) == 0 && is_of_user_or_root(info) &&
         ::fcntl(there.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

void OutputFile::take_another_name() {
  const std::string wanted = name_;
  const std::string pid = std::to_string(::getpid());
  struct stat info {};
  for (int i = 1;; ++i) {  // a process with the same pid in another container may use the name
    name_ = numbered_name(wanted, i == 1 ? pid : pid + "-" + std::to_string(i));
    entry_ = name_.substr(folder_of(name_).size());
    if (::fstatat(folder_.get(), entry_.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      break;
    }
  }
  log::warn(wanted + " is being written by another program: this one writes " + name_, busy_hint_);
}

Status OutputFile::commit() {
  if (temporary_.empty()) {
    return {};
  }
  const FolderLock lock(folder_.get());
  if (is_being_written()) {
    take_another_name();
  }
  RETURN_IF_ERROR(rotate());
  if (!rename_entry(folder_.get(), temporary_, entry_)) {
    return failed_call("cannot write " + name_);
  }
  temporary_.clear();
  return {};
}

Result<std::string> OutputFile::finish() {
  if (Status named = commit(); !named) {
    Error error = std::move(named).error();
    temporary_.clear();
    const std::string path = real_path(file_.get());
    error.hint = path.empty() ? "it is lost, because its temporary file was removed" : "it is kept as " + path;
    return error;
  }
  const auto now = place();
  if (!now && keep_old_) {  // without keep_old, another writer may replace the file
    return failure(name_ + " is lost", "it was removed, or replaced, while it was written",
                   "write it into a folder that nobody else may change");
  }
  if (now && *now != name_) {
    log::warn("the output is no longer at " + name_ + ": it was moved to " + *now);
  }
  return now.value_or(name_);
}

bool OutputFile::is_in(const UniqueFd& folder) const {
  struct stat ours {};
  struct stat found {};
  return ::fstat(file_.get(), &ours) == 0 &&
         ::fstatat(folder.get(), entry_.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && ours.st_dev == found.st_dev &&
         ours.st_ino == found.st_ino;
}

Status OutputFile::remove() {
  if (!file_ || !temporary_.empty() || !is_in(folder_)) {
    return {};
  }
  return ::unlinkat(folder_.get(), entry_.c_str(), 0) == 0
             ? Status()
             : failure("cannot remove " + name_, std::strerror(errno), "remove it yourself");
}

void OutputFile::set_aside_numbered(bool (*is_meant)(int fd)) const {
  if (!folder_) {
    return;
  }
  const std::string pattern = numbered_name(entry_, "/");  // no file name has a '/'
  const std::string_view before = std::string_view(pattern).substr(0, pattern.find('/'));
  const std::string_view after = std::string_view(pattern).substr(before.size() + 1);
  const auto is_numbered = [&](std::string_view name) {
    return name.size() >= pattern.size() && name.starts_with(before) && name.ends_with(after) &&
           whole_number(name.substr(before.size(), name.size() - before.size() - after.size()));
  };
  const auto names = names_in(folder_.get(), folder_of(name_), is_numbered);
  for (const std::string& entry : names ? *names : std::vector<std::string>()) {
    OutputFile old(UniqueFd(), folder_of(name_) + entry);
    old.entry_ = entry;
    old.keep_old_ = true;
    old.folder_.reset(::fcntl(folder_.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    const UniqueFd there = open_regular(folder_.get(), entry, O_NOFOLLOW);
    if (!there || !is_meant(there.get()) || old.is_being_written()) {
      continue;
    }
    Status renamed = old.check_replaceable();
    renamed = renamed ? old.rotate() : std::move(renamed);
    if (!renamed) {
      log::warn(renamed.error().message, renamed.error().hint);
    }
  }
}

void OutputFile::set_owner(uid_t uid, gid_t gid) const {
  if (file_) {
    (void)!::fchown(file_.get(), uid, gid);
  }
}

std::optional<std::string> OutputFile::place() const {
  if (!file_) {
    return name_;
  }
  const auto folder = open_folder(folder_of(name_));
  if (folder && is_in(*folder)) {
    return name_;
  }
  std::string path = real_path(file_.get());
  return path.empty() ? std::nullopt : std::optional(std::move(path));
}

}  // namespace gpuprof
