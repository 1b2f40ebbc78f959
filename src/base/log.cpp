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

#include "base/files/safe_open.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "base/unique_fd.h"

namespace gpuprof::log {
namespace {

std::atomic<Level> g_level{Level::normal};

using Clock = std::chrono::steady_clock;
constexpr auto kMaxWait = std::chrono::seconds(1);
// After a wait for stderr has failed, only `patient` messages wait during this time.
constexpr auto kPause = std::chrono::seconds(2);
constexpr auto kStep = std::chrono::milliseconds(10);

std::atomic<uint64_t> g_dropped{0};  // messages dropped since a message was last written
std::atomic<bool> g_cut{false};      // only a part of the last message was written
std::atomic<Clock::duration> g_next_wait{Clock::duration::zero()};

// While recording, gpuprof blocks signals and reads them between poll iterations. So no signal would interrupt a
// blocked write.
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

// A descriptor that gpuprof opened for the file behind stderr, and the identity of that file.
struct OwnStderr {
  dev_t device = 0;
  ino_t inode = 0;
  // Closed if stderr is neither a terminal nor a pipe, or if it could not be opened.
  UniqueFd fd;

  [[nodiscard]] bool is_of(const struct stat& now) const { return device == now.st_dev && inode == now.st_ino; }
};

// Opens the terminal or pipe behind stderr again, in nonblocking mode. A target can stop the terminal or fill the
// pipe, and this must not block a recording. Polling before a blocking write is not enough, because the state can
// change between them. Setting O_NONBLOCK on stderr itself would also affect the target.
UniqueFd open_without_waiting(const struct stat& status) {
  unsigned number = 0;
  // To open the master side of a terminal again would create another terminal.
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1 && ::ioctl(STDERR_FILENO, TIOCGPTN, &number) != 0;
  return S_ISFIFO(status.st_mode) || is_terminal ? reopen(STDERR_FILENO, O_WRONLY | O_NONBLOCK) : UniqueFd();
}

// Opens stderr once, and again when stderr has become another file. The inode number identifies the file, because it
// cannot be reused while the descriptor is open. A failure is not stored, because there may be free descriptors
// later. The result is shared, because another thread may still be writing to it.
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

// Writes what can be written without blocking, at most what a pipe accepts at once. Returns a negative number on an
// error.
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

// Writes until stderr is full. If `patient`, waits up to kMaxWait for it to accept more. Returns the number of bytes
// written. On an error, returns text.size(), so that the caller does not write the text again.
size_t write_while_room(std::string_view text, bool patient) {
  const std::shared_ptr<const OwnStderr> own = own_stderr();
  const auto deadline = Clock::now() + kMaxWait;
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

// Appends a message in one line. It may contain names from a target or a file, so control sequences for the terminal
// are escaped.
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

// Uses one write per message, so that its lines and those of the target do not mix. If stderr stays full for
// kMaxWait, messages that are not `patient` do not wait until kPause is over, so that they cannot slow a recording.
void put(std::string_view tag, std::string_view message, std::string_view hint, bool patient = false) {
  const bool after_cut = g_cut.exchange(false);
  std::string text = after_cut ? "\n" : "";
  const uint64_t dropped = g_dropped.exchange(0);
  if (dropped > 0) {
    append_message("warning: ", counted_text(dropped, "message") + " not shown, because stderr was full", {}, text);
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
  // The error waits for stderr, because it is probably the last message.
  put("error: ", error.message, error.hint, true);
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
