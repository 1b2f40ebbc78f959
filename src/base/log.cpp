#include "base/log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "base/utf8.h"

namespace gpuprof::log {
namespace {

std::atomic<Level> g_level{Level::normal};

constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kStep = std::chrono::milliseconds(10);

std::atomic<uint64_t> g_dropped{0};  // messages since stderr last had room

// Our signals are blocked while we record, so nothing would end a write that waits: a target that stops the terminal,
// or fills the pipe, must not hold us up. That a descriptor has room can be over once the write begins, and a flag of
// it would be the target's, too: a terminal or pipe is opened once more, where that may be.
UniqueFd open_without_waiting() {
  struct stat status {};
  unsigned number = 0;
  const bool is_pipe = ::fstat(STDERR_FILENO, &status) == 0 && S_ISFIFO(status.st_mode);
  // To open a terminal's other end would make another terminal.
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1 && ::ioctl(STDERR_FILENO, TIOCGPTN, &number) != 0;
  return UniqueFd(is_pipe || is_terminal ? ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                                         : -1);
}

// As much as has room now, of what is no more than a pipe with room takes at once. Negative: it cannot be written.
ssize_t write_some(const UniqueFd& own, std::string_view text) {
  pollfd writable{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&writable, 1, 0) <= 0) {
    return 0;
  }
  text = text.substr(0, PIPE_BUF);
  ssize_t n = own ? ::write(own.get(), text.data(), text.size())
                  : ::send(STDERR_FILENO, text.data(), text.size(), MSG_DONTWAIT);
  if (n < 0 && !own && errno == ENOTSOCK) {
    n = ::write(STDERR_FILENO, text.data(), text.size());
  }
  return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : n;
}

// False: there was no room. What cannot be written is nobody's to be told of later.
bool write_all(std::string_view text, bool patient) {
  const UniqueFd own = open_without_waiting();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const ssize_t n = write_some(own, text);
    text.remove_prefix(n > 0 ? static_cast<size_t>(n) : 0);
    if (n < 0 || text.empty()) {
      return true;
    }
    if (patient ? std::chrono::steady_clock::now() >= deadline : n == 0) {
      return false;
    }
    if (n == 0) {
      std::this_thread::sleep_for(kStep);
    }
  }
}

// A message may hold names from a target or a file: it stays one line, and no escape sequence in it reaches the
// terminal.
void append_message(std::string_view tag, std::string_view message, std::string_view hint, std::string& out) {
  out += "gpuprof: ";
  out += tag;
  append_escaped(message, {}, out);
  out += '\n';
  if (!hint.empty()) {
    out += "  hint: ";
    append_escaped(hint, {}, out);
    out += '\n';
  }
}

// One write per message, so that lines of the target and ours do not mix. Once one has been dropped for want of room,
// further ones do not wait for it, unless they are told to: a recording is not slowed by each of them.
void put(std::string_view tag, std::string_view message, std::string_view hint, bool patient = false) {
  std::string text;
  const uint64_t dropped = g_dropped.exchange(0);
  if (dropped > 0) {
    append_message("warning: ", std::to_string(dropped) + " messages are not shown: stderr had no room for them", {},
                   text);
  }
  append_message(tag, message, hint, text);
  if (!write_all(text, patient || dropped == 0)) {
    g_dropped += dropped + 1;
  }
}

}  // namespace

void set_level(Level level) {
  g_level = level;
}
Level level() {
  return g_level;
}

void error(const Error& error) {
  put("error: ", error.message, error.hint, true);  // likely the last one
}
void warn(std::string_view message, std::string_view hint) {
  put("warning: ", message, hint);
}
void info(std::string_view message) {
  if (level() >= Level::normal) {
    put("", message, {});
  }
}
void debug(std::string_view message) {
  if (level() >= Level::verbose) {
    put("debug: ", message, {});
  }
}

}  // namespace gpuprof::log
