// Signals as readable events: the recorder passes them on to its target instead of dying.
#pragma once

#include <signal.h>

#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::record {

class Signals {
 public:
  // Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2, but those that are ignored, for this thread and those
  // it starts; for good, because one that comes when the recording has just ended must not change the exit status. With
  // `terminal_stop` also SIGTSTP: for a target that the terminal's Ctrl-Z does not reach.
  static Result<Signals> block(bool terminal_stop = false);

  Signals(Signals&&) = default;
  Signals& operator=(Signals&&) = delete;
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() = default;

  struct Event {
    int signal = 0;
    bool from_terminal = false;  // the target's process group has it already
  };
  std::optional<Event> next();

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const sigset_t& original_mask() const { return original_; }

 private:
  Signals(UniqueFd fd, const sigset_t& original) : fd_(std::move(fd)), original_(original) {}
  UniqueFd fd_;
  sigset_t original_;
};

// Whether a signal wants us to end, and does not switch recording or pause us.
constexpr bool is_stop(int signal) {
  return signal != SIGUSR1 && signal != SIGUSR2 && signal != SIGTSTP;
}

// A signal that ends a recording, that has come and that nobody has read yet; 0: none.
int pending_stop();

// What cannot be written (a closed pipe, a limit on the size of files) is an error of ours to report, and not our end.
// Returns those of the signals that were not ignored before, as a target is to have them.
std::vector<int> ignore_write_signals();

}  // namespace gpuprof::record
