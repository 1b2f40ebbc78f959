#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <string_view>

#include "base/files/file.h"
#include "base/files/safe_open.h"
#include "unwind/cache/table_file.h"

namespace gpuprof::unwind {
namespace {

constexpr std::string_view kTemporary = ".new-";
// Older versions named the tables of files without a build id like this. evict() removes them, too.
constexpr std::string_view kOldContents = "contents-";
// Older temporary files are deleted: a process that still wrote one would have finished.
constexpr time_t kStaleSeconds = 3600;
constexpr size_t kMaxFiles = 100'000;  // maximum number of files that are listed per directory

// Root creates no directories inside directories of other users, because these users control the contents.
bool may_make_in(int directory) {
  struct stat status {};
  return ::geteuid() != 0 || (::fstat(directory, &status) == 0 && status.st_uid == 0);
}

// Opens a directory inside `parent`, and creates it if it is missing. Follows a symbolic link only if `may_be_link` is
// set and no other user can have created the link. Otherwise a link could redirect this user's cache.
UniqueFd enter(int parent, const std::string& name, bool may_be_link) {
  UniqueFd next = locate(parent, name, O_DIRECTORY | O_NOFOLLOW);
  if (!next && errno == ENOTDIR && may_be_link && is_trusted(parent)) {
    next = locate(parent, name, O_DIRECTORY);
  } else if (!next && errno == ENOENT && may_make_in(parent) &&
             (create_folder(parent, name, 0700) || errno == EEXIST)) {
    next = locate(parent, name, O_DIRECTORY | O_NOFOLLOW);
  }
  return next;
}

// Opens the directory of an absolute path, and creates missing components.
UniqueFd enter_path(std::string_view path) {
  UniqueFd directory = locate(AT_FDCWD, "/", O_DIRECTORY);
  while (directory && !path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    if (slash != 0) {
      const bool is_last = path.find_first_not_of('/', slash) == std::string_view::npos;
      directory = enter(directory.get(), std::string(path.substr(0, slash)), !is_last);
    }
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return directory ? open_directory(directory.get(), ".") : UniqueFd();
}

bool is_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The directory may also hold other files of the user, so only names that a table can have are accepted.
bool is_table(std::string_view name) {
  if (!name.ends_with(CacheDirectory::kSuffix)) {
    return false;
  }
  name.remove_suffix(CacheDirectory::kSuffix.size());
  if (name.starts_with(kOldContents)) {
    name.remove_prefix(kOldContents.size());
  }
  return is_hex(name);
}

// True for names of the form .new-PID-NANOSECONDS-NAME.
bool is_temporary(std::string_view name) {
  if (!name.starts_with(kTemporary)) {
    return false;
  }
  name.remove_prefix(kTemporary.size());
  for (int number = 0; number < 2; ++number) {
    const size_t digits = name.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos || name[digits] != '-') {
      return false;
    }
    name.remove_prefix(digits + 1);
  }
  return is_table(name);
}

struct File {
  std::string name;
  uint64_t bytes = 0;
  time_t used = 0;
};

// Lists only tables and temporary files.
std::vector<File> list(int directory) {
  std::vector<File> files;
  UniqueFd fd = open_directory(directory, ".");
  DIR* stream = fd ? ::fdopendir(fd.get()) : nullptr;
  if (stream == nullptr) {
    return files;
  }
  static_cast<void>(fd.release());
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(stream, ::closedir);
  while (const dirent* entry = files.size() < kMaxFiles ? ::readdir(stream) : nullptr) {
    struct stat status {};
    if (!is_table(entry->d_name) && !is_temporary(entry->d_name)) {
      continue;
    }
    if (::fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode)) {
      files.push_back({entry->d_name, static_cast<uint64_t>(status.st_size), status.st_mtime});
    }
  }
  return files;
}

}  // namespace

std::optional<CacheDirectory> CacheDirectory::open(const std::string& path, uint64_t max_bytes) {
  if (!path.starts_with('/')) {
    return std::nullopt;
  }
  UniqueFd fd = enter_path(path);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || status.st_uid != ::geteuid() ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return std::nullopt;
  }
  return CacheDirectory(std::move(fd), max_bytes);
}

std::optional<std::vector<uint8_t>> CacheDirectory::read(const std::string& name) const {
  const UniqueFd fd = open_regular(fd_.get(), name, O_NOFOLLOW);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || status.st_uid != ::geteuid() ||
      static_cast<uint64_t>(status.st_size) > max_bytes_) {
    return std::nullopt;
  }
  std::vector<uint8_t> bytes;
  const symbolize::ByteSource source = symbolize::ByteSource::file(fd.get());
  if (!source.read_range(0, source.size(), max_bytes_, bytes)) {
    return std::nullopt;
  }
  // Marks the file as recently used: evict() orders files by their modification time.
  static_cast<void>(::futimens(fd.get(), nullptr));
  return bytes;
}

bool CacheDirectory::write(const std::string& name, std::span<const uint8_t> bytes) const {
  if (bytes.size() > max_bytes_ || !is_table(name)) {
    return false;
  }
  evict(bytes.size());
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::string temporary =
      std::string(kTemporary) + std::to_string(::getpid()) + "-" + std::to_string(now.tv_nsec) + "-" + name;
  const UniqueFd fd = create_file(fd_.get(), temporary, 0600);
  if (!fd) {
    return false;
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (write_all(fd.get(), text, temporary).ok() && rename_entry(fd_.get(), temporary, name)) {
    return true;
  }
  ::unlinkat(fd_.get(), temporary.c_str(), 0);
  return false;
}

// Deletes the least recently used files until `bytes` more fit.
void CacheDirectory::evict(uint64_t bytes) const {
  std::vector<File> files = list(fd_.get());
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  uint64_t total = bytes;
  for (const File& file : files) {
    total += file.bytes;
  }
  const time_t now = ::time(nullptr);
  for (const File& file : files) {
    const bool temporary = file.name.starts_with(kTemporary);
    const bool goes = temporary ? now - file.used > kStaleSeconds : total > max_bytes_;
    if (goes && ::unlinkat(fd_.get(), file.name.c_str(), 0) == 0) {
      total -= file.bytes;
    }
  }
}

}  // namespace gpuprof::unwind
