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
#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/text/utf8.h"
#include "base/unique_fd.h"

namespace gpuprof::log {
namespace {

std::atomic<Level> g_level{Level::normal};

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kPause = std::chrono::seconds(2);  // after a wait in vain, until a message waits again
constexpr auto kStep = std::chrono::milliseconds(10);

std::atomic<uint64_t> g_dropped{0};  // messages since stderr last had room
std::atomic<bool> g_cut{false};      // the last one was written in part
std::atomic<Clock::duration> g_next_wait{Clock::duration::zero()};

// While we record, signals are blocked and read between turns: nothing would end a write that waits.
bool signals_are_blocked() {
  sigset_t blocked;
  sigemptyset(&blocked);
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return sigismember(&blocked, SIGTERM) == 1 || sigismember(&blocked, SIGINT) == 1;
}

void write_waiting(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0 && errno != EINTR) {
      return;
    }
    text.remove_prefix(n > 0 ? static_cast<size_t>(n) : 0);
  }
}

// A descriptor of our own for what stderr leads to, and what that was.
struct OwnStderr {
  dev_t device = 0;
  ino_t inode = 0;
  UniqueFd fd;  // none: stderr is neither a terminal nor a pipe, or it could not be opened

  [[nodiscard]] bool is_of(const struct stat& now) const { return device == now.st_dev && inode == now.st_ino; }
};

// A target that stops the terminal, or fills the pipe, must not hold a recording up. That a descriptor has room can be
// over once the write begins, and a flag of it would be the target's, too: a terminal or pipe is opened once more,
// where that may be.
UniqueFd open_without_waiting(const struct stat& status) {
  unsigned number = 0;
  // To open a terminal's other end would make another terminal.
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1 && ::ioctl(STDERR_FILENO, TIOCGPTN, &number) != 0;
  return UniqueFd(S_ISFIFO(status.st_mode) || is_terminal
                      ? ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                      : -1);
}

// Opened once, and again where stderr has become something else since: while ours is open, nothing else can get the
// inode that it was opened for. What could not be opened is not kept: descriptors may have run out for a moment.
// Shared, for another thread may be writing to it then.
std::shared_ptr<const OwnStderr> own_stderr() {
  static std::mutex mutex;
  static std::shared_ptr<const OwnStderr> kept;
  struct stat status {};
  const std::lock_guard lock(mutex);
  if (::fstat(STDERR_FILENO, &status) != 0) {
    status = {};
  }
  if (kept && kept->is_of(status)) {
    return kept;
  }
  auto own = std::make_shared<OwnStderr>();
  *own = {status.st_dev, status.st_ino, open_without_waiting(status)};
  kept = own->fd ? own : nullptr;
  return own;
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

// How much of the text was written before there was no room. What cannot be written at all counts as written: it is
// nobody's to be told of later.
size_t write_while_room(std::string_view text, bool patient) {
  const std::shared_ptr<const OwnStderr> own = own_stderr();
  const auto deadline = Clock::now() + kPatience;
  size_t done = 0;
  for (;;) {
    const ssize_t n = write_some(own->fd, text.substr(done));
    done = n < 0 ? text.size() : done + static_cast<size_t>(n);
    if (done == text.size() || (patient ? Clock::now() >= deadline : n == 0)) {
      return done;
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
// further ones do not wait for it for a while, unless they are told to: a recording is not slowed by each of them.
void put(std::string_view tag, std::string_view message, std::string_view hint, bool patient = false) {
  const bool after_cut = g_cut.exchange(false);
  std::string text = after_cut ? "\n" : "";
  const uint64_t dropped = g_dropped.exchange(0);
  if (dropped > 0) {
    append_message("warning: ", std::to_string(dropped) + " messages are not shown: stderr had no room for them", {},
                   text);
  }
  append_message(tag, message, hint, text);
  if (!signals_are_blocked()) {
    write_waiting(text);
    return;
  }
  const bool waits = patient || Clock::now().time_since_epoch() >= g_next_wait.load();
  const size_t written = write_while_room(text, waits);
  if (written == text.size()) {
    g_next_wait = Clock::duration::zero();
    return;
  }
  g_dropped += dropped + 1;
  g_cut = after_cut || written > 0;
  if (waits) {
    g_next_wait = (Clock::now() + kPause).time_since_epoch();
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
void asked(std::string_view message) {
  put("", message, {});
}

size_t draw(std::string_view text) {
  return write_while_room(text, false);
}

}  // namespace gpuprof::log
