#include "record/attach/inject_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/files/safe_open.h"
#include "base/process/close_range.h"
#include "base/process/packet.h"
#include "base/text/hints.h"

namespace gpuprof::record {
namespace {

constexpr uint64_t kAnswerNs = 1'000'000'000;
constexpr int kPollMs = 20;

enum class Outcome : uint8_t { failed, of_another_recording, brought };

// The child's message to the recorder. If the injection succeeded, the library's descriptor comes in the same packet.
struct Report {
  Outcome outcome = Outcome::failed;
  bool was_there = false;
  std::array<char, 1024> message{};
  std::array<char, 512> hint{};
};

void copy_text(const std::string& from, std::span<char> to) {
  std::copy_n(from.begin(), std::min(from.size(), to.size() - 1), to.begin());
}

void send_report(int socket, const InjectionOutcome& outcome) {
  Report report;
  int file = -1;
  if (!outcome) {
    copy_text(outcome.error().message, report.message);
    copy_text(outcome.error().hint, report.hint);
  } else if (!*outcome) {
    report.outcome = Outcome::of_another_recording;
  } else {
    report.outcome = Outcome::brought;
    report.was_there = (*outcome)->was_there;
    file = (*outcome)->file.get();
  }
  (void)send_packet(socket, std::as_bytes(std::span(&report, 1)), file);  // fails if the recorder has ended
}

InjectionOutcome receive_report(int socket) {
  Report report;
  Received received = receive_packet(socket, std::as_writable_bytes(std::span(&report, 1)));
  if (received.bytes != static_cast<ssize_t>(sizeof(report))) {
    return Error{"the process that injects the library has ended", "try again"};
  }
  if (report.outcome == Outcome::failed) {
    return Error{report.message.data(), report.hint.data()};
  }
  if (report.outcome == Outcome::of_another_recording) {
    return std::optional<Injection>();
  }
  Injection injection;
  injection.was_there = report.was_there;
  injection.file = std::move(received.fd);
  injection.path = "/proc/self/fd/" + std::to_string(injection.file.get());
  return std::optional<Injection>(std::move(injection));
}

// Closes the descriptors that the child does not need. The child can outlive the recorder, and must not keep its socket
// or output pipe open.
void close_all_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  int first = STDERR_FILENO + 1;
  for (const int fd : kept) {
    if (fd > first) {
      close_between(first, fd - 1);
    }
    first = std::max(first, fd + 1);
  }
  close_between(first, std::numeric_limits<int>::max());
}

// Blocks all signals, because only the recorder handles them. Replaces stdin, stdout and stderr, so that no reader of
// the recorder's output waits for the child.
void leave_recorder() {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const UniqueFd null = open_device("/dev/null");
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(null.get(), fd);
  }
}

// Returns whether the recorder has shut down its end of the socket, which stops the child, or has ended.
bool told_to_stop(int socket) {
  pollfd end{socket, POLLIN, 0};
  return ::poll(&end, 1, 0) > 0;
}

// Returns nullopt if the child has not reported within 1 s after `stop` returned true. The child then finishes alone.
std::optional<InjectionOutcome> wait_for_report(int socket, const std::function<bool()>& stop) {
  uint64_t stopped_ns = 0;
  for (;;) {
    pollfd report{socket, POLLIN, 0};
    if (::poll(&report, 1, kPollMs) > 0) {
      return receive_report(socket);
    }
    const uint64_t now = monotonic_ns();
    if (stopped_ns == 0 && stop && stop()) {
      stopped_ns = now;
      ::shutdown(socket, SHUT_WR);
    }
    if (stopped_ns != 0 && now - stopped_ns > kAnswerNs) {
      return std::nullopt;
    }
  }
}

}  // namespace

InjectionOutcome run_in_child(const std::function<InjectionOutcome(const std::function<bool()>& stop)>& work,
                              const std::function<bool()>& stop, std::span<const int> needed) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error{std::string("cannot make a socket: ") + std::strerror(errno), hints::kMoreFiles};
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) {
    return Error{std::string("cannot fork: ") + std::strerror(errno), hints::kMoreProcesses};
  }
  if (child == 0) {
    ours.reset();
    leave_recorder();
    std::vector<int> kept(needed.begin(), needed.end());
    kept.push_back(theirs.get());
    close_all_but(std::move(kept));
    send_report(theirs.get(), work([&theirs] { return told_to_stop(theirs.get()); }));
    ::_exit(0);  // the kernel detaches all threads that are still traced
  }
  theirs.reset();
  auto outcome = wait_for_report(ours.get(), stop);
  if (!outcome) {
    return Error{"one of the process's threads does not return from the loader",
                 "try again when the process is less busy"};
  }
  ::waitpid(child, nullptr, 0);
  return std::move(*outcome);
}

}  // namespace gpuprof::record
