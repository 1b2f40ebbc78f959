// Delivers signals as readable events, so that the recorder can forward them to the target instead of dying.
#pragma once

#include <signal.h>

#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::record {

class Signals {
 public:
  // Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 for this thread and the threads that it creates later,
  // but not signals that are ignored. The signals stay blocked, because a signal after the end of the recording must
  // not change the exit status. With `terminal_stop`, also blocks SIGTSTP, for a target that the terminal's Ctrl-Z does
  // not reach.
  static Result<Signals> block(bool terminal_stop = false);

  Signals(Signals&&) = default;
  Signals& operator=(Signals&&) = delete;
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() = default;

  struct Event {
    int signal = 0;
    bool from_terminal = false;  // true: the terminal has also sent the signal to the target's process group
  };
  std::optional<Event> next();

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const sigset_t& original_mask() const { return original_; }

 private:
  Signals(UniqueFd fd, const sigset_t& original) : fd_(std::move(fd)), original_(original) {}
  UniqueFd fd_;
  sigset_t original_;
};

// Returns whether the signal asks the recorder to end. Other signals switch recording or pause the recorder.
constexpr bool is_stop(int signal) {
  return signal != SIGUSR1 && signal != SIGUSR2 && signal != SIGTSTP;
}

// Returns a signal that asks the recorder to end and that is pending, so next() has not returned it; 0: no such signal.
int pending_stop();

// Ignores SIGPIPE and SIGXFSZ, so that failed writes return errors. Returns the signals that it changed: targets must
// reset them to the default action.
std::vector<int> ignore_write_signals();

}  // namespace gpuprof::record
