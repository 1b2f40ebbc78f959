#include "symbolize/gpu/code_reader_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/clock.h"
#include "base/process/close_range.h"
#include "base/process/pidfd.h"
#include "base/unique_fd.h"

namespace gpuprof::symbolize {
namespace {

constexpr int kPollMs = 100;

struct Child {
  UniqueFd output;
  UniqueFd process;
};

// Runs in the child until exec. Uses nothing that another thread may have locked during the fork.
[[noreturn]] void become(const char* program, const char* const* arguments, int code, int output,
                         const CodeOwner& owner, const ReaderLimits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A separate process group keeps Ctrl-C from ending this child. Ctrl-C ends only the recording.
  ::setpgid(0, 0);
  if (::geteuid() == 0 &&
      (::syscall(SYS_setgroups, 0, nullptr) != 0 || ::syscall(SYS_setresgid, owner.gid, owner.gid, owner.gid) != 0 ||
       ::syscall(SYS_setresuid, owner.uid, owner.uid, owner.uid) != 0)) {
    ::_exit(1);
  }
  const rlim_t seconds = static_cast<rlim_t>(limits.time.count() / 1000) + 1;
  const rlimit time{seconds, seconds};
  const rlimit memory{limits.memory, limits.memory};
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CPU, &time);
  ::setrlimit(RLIMIT_AS, &memory);
  ::setrlimit(RLIMIT_CORE, &none);
  ::setrlimit(RLIMIT_FSIZE, &none);
  sigset_t all;
  sigemptyset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int null = ::open("/dev/null", O_RDWR);
  if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(null, 2) < 0 || ::dup2(code, kCodeFd) < 0) {
    ::_exit(1);
  }
  close_between(kCodeFd + 1, ~0U >> 1);
  const std::array<char*, 2> environment = {const_cast<char*>("LC_ALL=C"), nullptr};
  ::execve(program, const_cast<char* const*>(arguments), environment.data());
  ::_exit(127);
}

Child start(const std::string& program, const std::vector<std::string>& arguments, int code, const CodeOwner& owner,
            const ReaderLimits& limits) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {};
  }
  Child child{UniqueFd(ends[0]), UniqueFd()};
  const UniqueFd ours(ends[1]);
  // `output` and `source` must be above kCodeFd, because the child duplicates them to 1 and kCodeFd.
  const UniqueFd output(::fcntl(ours.get(), F_DUPFD_CLOEXEC, kCodeFd + 1));
  const UniqueFd source(::fcntl(code, F_DUPFD_CLOEXEC, kCodeFd + 1));
  std::vector<const char*> words = {program.c_str()};
  for (const std::string& argument : arguments) {
    words.push_back(argument.c_str());
  }
  words.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(program.c_str(), words.data(), source.get(), output.get(), owner, limits);
  }
  child.process = pid > 0 ? open_pidfd(pid) : UniqueFd();
  return child;
}

std::string read_all(int fd, const ReaderLimits& limits) {
  const uint64_t end = monotonic_ns() + static_cast<uint64_t>(limits.time.count()) * 1'000'000;
  std::string text;
  std::array<char, 65536> chunk{};
  while (text.size() < limits.output && monotonic_ns() < end) {
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, kPollMs) <= 0) {
      continue;
    }
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    text.append(chunk.data(), std::min(static_cast<size_t>(got), limits.output - text.size()));
  }
  return text;
}

UniqueFd file_of(std::span<const std::byte> bytes) {
  UniqueFd file(::memfd_create("code", MFD_CLOEXEC));
  while (file && !bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return UniqueFd();
    }
    bytes = bytes.subspan(written > 0 ? static_cast<size_t>(written) : 0);
  }
  return file;
}

}  // namespace

std::string run_on_code(const std::string& program, const std::vector<std::string>& arguments,
                        std::span<const std::byte> code, const CodeOwner& owner, const ReaderLimits& limits) {
  const UniqueFd file = file_of(code);
  const Child child = file ? start(program, arguments, file.get(), owner, limits) : Child();
  if (!child.process) {
    return {};
  }
  std::string text = read_all(child.output.get(), limits);
  // Waits for the pidfd and not for the pid: the main thread reaps every child that ends, and another process may
  // then get the pid.
  siginfo_t info{};
  ::syscall(SYS_pidfd_send_signal, child.process.get(), SIGKILL, nullptr, 0);
  ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(child.process.get()), &info, WEXITED);
  return text;
}

}  // namespace gpuprof::symbolize
