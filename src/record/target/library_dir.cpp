#include "record/target/library_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/file.h"
#include "base/files/safe_open.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/hints.h"
#include "base/text/utf8.h"

namespace gpuprof::record {
namespace {

constexpr std::string_view kFolderPrefix = "gpuprof-libraries-";
constexpr int kTries = 16;
// Limits the time for stale folders, because any user can create many folders with such names in /tmp.
constexpr int kMaxStaleFolders = 1000;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

// Lists the directory's names that start with `beginning`. `directory` may be an O_PATH descriptor.
std::vector<std::string> names_in(int directory, std::string_view beginning) {
  std::vector<std::string> names;
  UniqueFd fd = open_directory(directory, ".");
  const Directory entries(fd ? ::fdopendir(fd.get()) : nullptr);
  if (!entries) {
    return names;
  }
  static_cast<void>(fd.release());
  while (const dirent* entry = ::readdir(entries.get())) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    const std::string_view name(entry->d_name);
    if (name.starts_with(beginning) && name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  return names;
}

// Removes a directory that contains only files. Unlinking does not follow links.
void remove_directory(int parent, const std::string& name, int directory) {
  for (const std::string& file : names_in(directory, "")) {
    ::unlinkat(directory, file.c_str(), 0);
  }
  ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

// Removes the directories of recorders that have ended. A live recorder holds a lock on its directory. The lock also
// works across pid namespaces, where pids would not.
void remove_stale(int parent) {
  int folders = 0;
  for (const std::string& name : names_in(parent, kFolderPrefix)) {
    if (++folders > kMaxStaleFolders) {
      return;
    }
    const UniqueFd directory = open_directory(parent, name);
    struct stat info {};
    if (directory && ::fstat(directory.get(), &info) == 0 && info.st_uid == ::geteuid() &&
        ::flock(directory.get(), LOCK_EX | LOCK_NB) == 0) {
      remove_directory(parent, name, directory.get());
    }
  }
}

std::string own_tmpdir() {
  const char* tmpdir = std::getenv("TMPDIR");
  return tmpdir == nullptr ? "" : tmpdir;
}

bool allows_code(int directory) {
  struct statvfs info {};
  return ::fstatvfs(directory, &info) == 0 && (info.f_flag & ST_NOEXEC) == 0;
}

std::string random_name() {
  std::random_device device;
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";
  std::string name(kFolderPrefix);
  for (int i = 0; i < 12; ++i) {
    name += kLetters[device() % kLetters.size()];
  }
  return name;
}

bool is_in_place(int parent, const std::string& name, int directory) {
  struct stat named {};
  struct stat open {};
  return ::fstatat(parent, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && ::fstat(directory, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino && open.st_uid == ::geteuid();
}

// Until the directory is locked, another gpuprof of this user may remove it as stale. On file systems without locks,
// such as some network file systems, no directory is removed. The mode 0711 lets other users open files by name, but
// not lock the directory.
UniqueFd make_locked(int parent, const std::string& name) {
  if (!create_folder(parent, name, 0700)) {
    return {};
  }
  UniqueFd directory = open_directory(parent, name);
  if (!directory || (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
      !is_in_place(parent, name, directory.get()) || ::fchmod(directory.get(), 0711) != 0) {
    ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
    return {};
  }
  return directory;
}

}  // namespace

Result<LibraryDir> LibraryDir::make() {
  std::vector<std::string> folders = {"/tmp", "/var/tmp", "/dev/shm"};
  const std::string chosen = own_tmpdir();
  if (!chosen.empty()) {
    std::erase(folders, chosen);
    folders.insert(folders.begin(), chosen);
  }
  std::string why;
  std::string hint = "set TMPDIR to a folder that only you and root can change, on a file system without noexec";
  for (const std::string& folder : folders) {
    auto made = make_in(folder);
    if (made) {
      return made;
    }
    if (folder == chosen) {
      log::info("TMPDIR=" + escaped(chosen) + " is not used for the injection libraries: " + made.error().message +
                "; " + made.error().hint);
    }
    why += (why.empty() ? "" : "; ") + made.error().message;
    if (made.error().hint == hints::kMoreFiles) {
      hint = hints::kMoreFiles;
    }
  }
  return Error{"no folder for the injection libraries: " + why, std::move(hint)};
}

Result<LibraryDir> LibraryDir::make_in(const std::string& folder) {
  auto parent = open_safe_folder(folder, ::geteuid() == 0);  // because targets of root may become any user
  RETURN_IF_ERROR(parent);
  if (!allows_code(parent->fd.get())) {
    return Error{folder + " is mounted noexec", "set TMPDIR to a folder on a file system without noexec"};
  }
  remove_stale(parent->fd.get());
  for (int i = 0; i < kTries; ++i) {
    std::string name = random_name();
    if (UniqueFd fd = make_locked(parent->fd.get(), name)) {
      return LibraryDir(std::move(*parent), std::move(name), std::move(fd));
    }
  }
  const int error = errno;
  return Error{"cannot create a folder in " + folder + ": " + std::strerror(error),
               hints::of_error(error, "set TMPDIR to a folder that you can write to")};
}

LibraryDir::LibraryDir(LibraryDir&& other) noexcept = default;

LibraryDir::~LibraryDir() {
  if (fd_) {
    remove_directory(parent_.fd.get(), name_, fd_.get());
  }
}

Status LibraryDir::unpack(const backend::Backend::Library& library) {
  const std::string file(library.file_name);
  const UniqueFd fd = create_file(fd_.get(), file, 0700);
  // Set the mode again, because a strict umask may have removed bits that targets of other users need.
  if (!fd || !write_all(fd.get(), library.bytes, file) || ::fchmod(fd.get(), 0755) != 0) {
    const int error = errno;
    const std::string tmpdir = own_tmpdir();
    return Error{
        "cannot write " + path_ + "/" + file + ": " + std::strerror(error),
        hints::of_error(error, (tmpdir.empty() ? "TMPDIR is not set" : "TMPDIR is " + escaped(tmpdir)) +
                                   ": free some space in " + parent_.path + ", or set TMPDIR to another folder")};
  }
  return {};
}

}  // namespace gpuprof::record
