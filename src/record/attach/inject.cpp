#include "record/attach/inject.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/safe_open.h"
#include "base/return_if_error.h"
#include "record/attach/inject_checks.h"
#include "record/attach/inject_child.h"
#include "record/attach/inject_thread.h"
#include "symbolize/process_maps.h"
#include "wire/wire.h"

namespace gpuprof::record {
namespace {

// The recorder maps this much memory in the target during the injection: texts at its start, a stack at its end.
constexpr uint64_t kScratchBytes = 512U << 10;
constexpr uint64_t kStackGap = 256;
constexpr size_t kMaxText = 4096;
constexpr uint64_t kExecutableMemfd = 0x10;  // MFD_EXEC, Linux 6.3
// Time limit of the search for dlopen. The target's owner could map files that take very long to search.
constexpr uint64_t kLoaderSearchNs = 10'000'000'000;
constexpr std::string_view kEntry = "gpuprof_attach";

std::string error_text(int64_t result) {
  return std::strerror(static_cast<int>(-result));
}

bool same_bytes(int fd, std::span<const unsigned char> bytes) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || static_cast<uint64_t>(info.st_size) != bytes.size()) {
    return false;
  }
  std::vector<unsigned char> part(64U << 10);
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t got = ::pread(fd, part.data(), std::min(part.size(), bytes.size() - at), static_cast<off_t>(at));
    if (got <= 0 || std::memcmp(part.data(), bytes.data() + at, static_cast<size_t>(got)) != 0) {
      return false;
    }
    at += static_cast<size_t>(got);
  }
  return true;
}

class Work {
 public:
  Work(const InjectionRequest& request, symbolize::ProcessMaps& maps, Loader loader, TracedThread& thread)
      : request_(request), maps_(maps), loader_(std::move(loader)), thread_(thread) {}

  // Returns nullopt if the library in the process belongs to another recording.
  Result<std::optional<Injection>> run() {
    const auto gate = find_gate();
    if (gate == 0) {
      return Error{"no system call instruction was found in the process's code", ""};
    }
    RETURN_IF_ERROR(thread_.borrow(gate));
    auto scratch =
        call_kernel(SYS_mmap, {0, kScratchBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~0ULL});
    RETURN_IF_ERROR(scratch);
    scratch_ = static_cast<uint64_t>(*scratch);
    auto injection = bring_and_start();
    // If this fails, unused memory stays mapped in the target.
    (void)call_kernel(SYS_munmap, {scratch_, kScratchBytes});
    return injection;
  }

 private:
  Result<std::optional<Injection>> bring_and_start() {
    Injection injection;
    size_t others = 0;
    std::shared_ptr<symbolize::MappedFile> library = find_library(others);
    if (library) {
      injection.was_there = true;
    } else {
      RETURN_IF_ERROR(bring(others));
      maps_.refresh();
      library = find_library(others);
    }
    const uint64_t entry = library ? symbol_address(maps_, *library, kEntry) : 0;
    if (entry == 0) {
      return Error{"the process opened the injection library, but its memory map lacks the library", ""};
    }
    injection.file.reset(::fcntl(library->fd.get(), F_DUPFD_CLOEXEC, 0));
    injection.path = "/proc/self/fd/" + std::to_string(injection.file.get());
    auto started = start(entry);
    RETURN_IF_ERROR(started);
    return *started ? std::optional<Injection>(std::move(injection)) : std::nullopt;
  }

  Result<int64_t> call_kernel(long number, const std::array<uint64_t, 6>& arguments) {
    auto result = thread_.system_call(number, arguments);
    constexpr int64_t kMaxErrno = 4095;
    if (result && *result < 0 && *result >= -kMaxErrno) {
      return Error{"the process's system call " + std::to_string(number) + " failed: " + error_text(*result), ""};
    }
    return result;
  }

  Result<uint64_t> call(uint64_t function, uint64_t first, uint64_t second, uint64_t third = 0) {
    return thread_.call(function, scratch_ + kScratchBytes - kStackGap, {first, second, third});
  }

  // Copies the text into slot `slot` of the scratch memory. Returns the address of the copy in the target.
  Result<uint64_t> put(uint64_t slot, const std::string& text) {
    const uint64_t address = scratch_ + slot * kMaxText;
    const std::span<const unsigned char> bytes(reinterpret_cast<const unsigned char*>(text.c_str()), text.size() + 1);
    if (bytes.size() > kMaxText || !thread_.write_memory(address, bytes)) {
      return Error{"the process's memory cannot be written", ""};
    }
    return address;
  }

  // Finds a system call instruction, preferably in the library that contains dlopen. If that is libdl (glibc < 2.34),
  // the library has no such instruction, so the search continues in other files.
  uint64_t find_gate() {
    for (const bool any : {false, true}) {
      for (const symbolize::Mapping& mapping : maps_.mappings()) {
        if (mapping.file == nullptr || (!any && mapping.file != loader_.library)) {
          continue;
        }
        if (const uint64_t gate = gate_in(mapping); gate != 0) {
          return gate;
        }
      }
    }
    return 0;
  }

  uint64_t gate_in(const symbolize::Mapping& mapping) {
    std::vector<unsigned char> part(std::min<uint64_t>(mapping.end - mapping.start, 4U << 20));
    if (!thread_.read_memory(mapping.start, part)) {
      return 0;
    }
    for (auto at = part.begin(); at != part.end(); ++at) {
      at = std::search(at, part.end(), arch::gate.begin(), arch::gate.end());
      if (at == part.end()) {
        break;
      }
      if (const auto offset = static_cast<uint64_t>(at - part.begin()); offset % arch::gate_alignment == 0) {
        return mapping.start + offset;
      }
    }
    return 0;
  }

  // Finds a mapped library whose bytes are those to inject. Sets `others` to the number of mapped libraries that have
  // the same name, but other bytes.
  std::shared_ptr<symbolize::MappedFile> find_library(size_t& others) {
    std::vector<const symbolize::MappedFile*> seen;
    others = 0;
    for (const symbolize::Mapping& mapping : maps_.mappings()) {
      if (!mapping.file || base_name(mapping.file->path) != request_.file_name ||
          std::find(seen.begin(), seen.end(), mapping.file.get()) != seen.end()) {
        continue;
      }
      if (!mapping.file->fd && is_brought(*mapping.file)) {
        mapping.file->fd.reset(::fcntl(brought_.get(), F_DUPFD_CLOEXEC, 0));
      }
      if (mapping.file->fd && same_bytes(mapping.file->fd.get(), request_.bytes)) {
        return mapping.file;
      }
      seen.push_back(mapping.file.get());
      ++others;
    }
    return nullptr;
  }

  // Only root may open a mapped memfd by /proc/PID/map_files. So the memfd that bring() has filled stays open.
  [[nodiscard]] bool is_brought(const symbolize::MappedFile& file) const {
    struct stat info {};
    return brought_ && ::fstat(brought_.get(), &info) == 0 && info.st_ino == file.inode && info.st_dev == file.device;
  }

  Status bring(size_t others) {
    // The mappings' path will be "/memfd:gpuprof/FILE", so their base name is the library's file name.
    auto name = put(0, "gpuprof/" + request_.file_name);
    RETURN_IF_ERROR(name);
    auto fd = thread_.system_call(SYS_memfd_create, {*name, MFD_CLOEXEC | kExecutableMemfd});
    if (fd && *fd == -EINVAL) {
      fd = thread_.system_call(SYS_memfd_create, {*name, MFD_CLOEXEC});
    }
    RETURN_IF_ERROR(fd);
    if (*fd < 0) {
      return Error{"the process cannot create a memfd: " + error_text(*fd) +
                       (*fd == -EPERM || *fd == -ENOSYS ? " (a seccomp filter, or an old kernel)" : ""),
                   ""};
    }
    Status status = fill_and_open(*fd, others);
    if (auto closed = call_kernel(SYS_close, {static_cast<uint64_t>(*fd)}); !closed && status) {
      return std::move(closed).error();
    }
    return status;
  }

  Status fill_and_open(int64_t fd, size_t others) {
    RETURN_IF_ERROR(fill(fd));
    // The path must be new. If a library was already opened by the same path, the loader would return that library.
    std::string below;
    for (size_t i = 0; i < others; ++i) {
      below += "./";
    }
    auto path = put(0, "/proc/self/fd/" + below + std::to_string(fd));
    RETURN_IF_ERROR(path);
    constexpr uint64_t kNow = 2;  // RTLD_NOW; RTLD_LOCAL is 0
    auto handle = call(loader_.open, *path, kNow);
    RETURN_IF_ERROR(handle);
    if (*handle == 0) {
      return Error{"the process's loader cannot open the injection library: " + loader_error(), ""};
    }
    return {};
  }

  // Writes the library into descriptor `fd` of the target. First checks that `fd` is an empty memfd, because the target
  // may have replaced it.
  Status fill(int64_t fd) {
    const std::string theirs = "/proc/" + std::to_string(request_.who.pid()) + "/fd/" + std::to_string(fd);
    const UniqueFd path = locate(AT_FDCWD, theirs);
    struct stat info {};
    struct statfs system {};
    if (!path || ::fstat(path.get(), &info) != 0 || ::fstatfs(path.get(), &system) != 0 || !S_ISREG(info.st_mode) ||
        info.st_nlink != 0 || info.st_size != 0 || system.f_type != TMPFS_MAGIC) {
      return Error{"the process's memfd was not found", ""};
    }
    const UniqueFd file = reopen_regular(path, O_WRONLY);
    if (!file || !write_all(file.get(), request_.bytes, "its memfd")) {
      return Error{"the process's memfd cannot be written: " + std::string(std::strerror(errno)), ""};
    }
    brought_ = reopen_regular(path);
    return {};
  }

  std::string loader_error() {
    if (loader_.error == 0) {
      return "no reason given";
    }
    const auto text = call(loader_.error, 0, 0);
    std::array<unsigned char, 256> bytes{};
    if (!text || *text == 0 || !thread_.read_memory(*text, std::span(bytes).first(bytes.size() - 1))) {
      return "no reason given";
    }
    std::string reason(reinterpret_cast<const char*>(bytes.data()));
    std::replace_if(
        reason.begin(), reason.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return reason;
  }

  // Returns false if the library in the process belongs to another recording.
  Result<bool> start(uint64_t entry) {
    auto socket = put(0, request_.socket);
    auto token = put(1, request_.token);
    if (!socket || !token) {
      return Error{"the process's memory cannot be written", ""};
    }
    auto result = call(entry, *socket, *token, ::geteuid());
    RETURN_IF_ERROR(result);
    const auto code = static_cast<int32_t>(*result);
    if (code != 0 && code != EBUSY) {
      return Error{"the injection library cannot start its thread: " + std::string(std::strerror(code)), ""};
    }
    return code == 0;
  }

  const InjectionRequest& request_;
  symbolize::ProcessMaps& maps_;
  Loader loader_;
  TracedThread& thread_;
  uint64_t scratch_ = 0;
  UniqueFd brought_;
};

InjectionOutcome inject_here(const InjectionRequest& request, const std::function<bool()>& stop) {
  RETURN_IF_ERROR(check_process(request.who.pid()));
  symbolize::ProcessMaps maps(request.who.pid(), symbolize::make_file_cache());
  if (!maps.refresh()) {
    return Error{"the process has ended", ""};
  }
  const uint64_t deadline = monotonic_ns() + kLoaderSearchNs;
  auto loader = find_loader(maps, [&] { return stop() || monotonic_ns() > deadline; });
  RETURN_IF_ERROR(loader);
  auto thread = stop_safe_thread(request.who, maps, stop);
  RETURN_IF_ERROR(thread);
  return Work(request, maps, std::move(*loader), *thread).run();
}

}  // namespace

Result<Injection> inject(const InjectionRequest& request) {
  // The library of a recording that has just ended may still be in the process. Retry until it has left.
  const uint64_t until = monotonic_ns() + GPUPROF_LEAVE_WAIT_NS;
  const std::array<int, 1> needed{request.who.pidfd()};
  for (useconds_t pause = 100'000;; pause *= 2) {
    auto injection = run_in_child([&request](const std::function<bool()>& stop) { return inject_here(request, stop); },
                                  request.stop, needed);
    RETURN_IF_ERROR(injection);
    if (*injection) {
      return std::move(**injection);
    }
    const uint64_t now = monotonic_ns();
    if (now >= until || (request.stop && request.stop())) {
      return Error{"the process is being recorded already, or its last recording has not finished yet", ""};
    }
    ::usleep(std::min(pause, static_cast<useconds_t>((until - now) / 1000 + 1)));
  }
}

}  // namespace gpuprof::record
