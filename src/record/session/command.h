// The command of a recording, and the processes that it leaves behind.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
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

  // Readable at its end.
  void add_poll_fd(std::vector<pollfd>& fds) const;

  // Whether it had ended before this call: what it did last is read in the turn between two calls.
  bool had_ended();
  [[nodiscard]] std::optional<int> status() const { return status_; }  // as of waitpid

  // After its end, whether processes of it are to be waited for: those that have connected, and for a while those that
  // may yet.
  bool is_survived(Channel& channel);

  // A signal that wants us to end. The first one lets the command clean up; others that follow soon insist.
  void pass_on_stop(const Signals::Event& event);
  [[nodiscard]] bool stop_wanted() const { return stops_ > 0; }

  // Ctrl-Z, where the command is in a session of its own: there the kernel would ignore its SIGTSTP.
  void pause_with_us() const;

 private:
  std::optional<Target> target_;
  std::optional<int> status_;
  uint64_t linger_until_ns_ = 0;
  uint64_t last_stop_ns_ = 0;
  int stops_ = 0;  // signals in a row that want us to end
  bool said_waiting_ = false;
};

}  // namespace gpuprof::record
