#include "record/library_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/unique_fd.h"

namespace gpuprof::record {
namespace {

constexpr std::string_view kPrefix = "gpuprof-libs-";

bool allows_code(const std::string& dir) {
  struct statvfs info {};
  return ::statvfs(dir.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC) == 0 && ::access(dir.c_str(), W_OK) == 0;
}

// A gpuprof that was killed could not clean up: its directory carries its pid.
void remove_stale(const std::string& parent) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) {
      continue;
    }
    const auto pid = static_cast<pid_t>(std::strtol(name.c_str() + kPrefix.size(), nullptr, 10));
    struct stat info {};
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH && ::lstat(entry.path().c_str(), &info) == 0 &&
        S_ISDIR(info.st_mode) && info.st_uid == ::geteuid()) {
      std::error_code ignored;
      std::filesystem::remove_all(entry.path(), ignored);
    }
  }
}

}  // namespace

Result<LibraryDir> LibraryDir::make() {
  const char* tmpdir = std::getenv("TMPDIR");
  for (const std::string& parent : {std::string(tmpdir != nullptr ? tmpdir : "/tmp"), std::string("/tmp"),
                                    std::string("/var/tmp"), std::string("/dev/shm")}) {
    if (!allows_code(parent)) {
      continue;
    }
    remove_stale(parent);
    std::string path = parent + "/" + std::string(kPrefix) + std::to_string(::getpid()) + "-XXXXXX";
    if (::mkdtemp(path.data()) != nullptr && ::chmod(path.c_str(), 0755) == 0) {
      return LibraryDir(path);
    }
  }
  return Error{
      "no directory for the injection libraries: /tmp, /var/tmp and /dev/shm are not writable or mounted noexec",
      "set TMPDIR to a directory on a file system without noexec"};
}

LibraryDir::LibraryDir(LibraryDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}

LibraryDir::~LibraryDir() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

Status LibraryDir::unpack(const backend::Backend::Library& library) {
  const std::string file = path_ + "/" + std::string(library.file_name);
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
  size_t done = 0;
  while (fd && done < library.bytes.size()) {
    const ssize_t n = ::write(fd.get(), library.bytes.data() + done, library.bytes.size() - done);
    if (n <= 0) {
      break;
    }
    done += static_cast<size_t>(n);
  }
  // The umask of the caller must not keep a target of another user from reading it.
  if (!fd || done != library.bytes.size() || ::fchmod(fd.get(), 0755) != 0) {
    return Error{"cannot write " + file + ": " + std::strerror(errno), "free some space, or set TMPDIR"};
  }
  return {};
}

}  // namespace gpuprof::record
