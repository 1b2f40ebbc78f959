// Runs the command of a recording, and waits for processes that outlive it.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/ipc/channel.h"
#include "record/signals.h"
#include "record/target/target.h"

namespace gpuprof::record {

class Command {
 public:
  Status start(const TargetSpec& spec, const std::optional<TargetUser>& user, const backend::LaunchEnv& env,
               const sigset_t& original_mask);

  void add_poll_fd(std::vector<pollfd>& fds) const;

  // Returns true if an earlier call has noticed the command's end. The call that notices the end returns false, so that
  // the session polls once more.
  bool had_ended();
  [[nodiscard]] std::optional<int> status() const { return status_; }  // a wait status of waitpid()

  // Call it after the command's end. Returns whether to wait for processes that are connected or may still connect.
  bool has_live_processes(Channel& channel);

  // Returns the processes that the command has started and that still run: "4242 (python3)". `only_recorded`: only
  // those that are connected. At most kMostRunning processes.
  [[nodiscard]] std::vector<std::string> running(const Channel& channel, bool only_recorded) const;
  static constexpr size_t kMostRunning = 512;

  // Handles a stop signal. The first signal goes to the command, which can then clean up. The next signal sends
  // SIGTERM, and further ones send SIGKILL.
  void pass_on_stop(const Signals::Event& event);
  [[nodiscard]] bool stop_wanted() const { return stops_ > 0; }

  // Handles Ctrl-Z. Sends SIGSTOP to a command in its own session, where the kernel ignores SIGTSTP.
  void pause_with_us() const;

 private:
  std::optional<Target> target_;
  std::optional<int> status_;
  uint64_t linger_until_ns_ = 0;
  uint64_t last_stop_ns_ = 0;
  int stops_ = 0;  // consecutive stop signals
  bool said_waiting_ = false;
};

}  // namespace gpuprof::record
