#include "record/session/command.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/process/children.h"
#include "base/process/stranger.h"
#include "base/text/utf8.h"
#include "record/session/timing.h"

namespace gpuprof::record {

Status Command::start(const TargetSpec& spec, const std::optional<TargetUser>& user, const backend::LaunchEnv& env,
                      const sigset_t& original_mask) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  auto target = Target::spawn(spec, user, env, original_mask);
  if (!target) {
    return std::move(target).error();
  }
  target_.emplace(std::move(*target));
  return {};
}

void Command::add_poll_fd(std::vector<pollfd>& fds) const {
  if (target_ && !status_) {
    fds.push_back({target_->pidfd(), POLLIN, 0});
  }
}

bool Command::had_ended() {
  if (status_) {
    return true;
  }
  status_ = target_->try_wait();
  linger_until_ns_ = monotonic_ns() + kLingerNs;
  return false;
}

bool Command::has_live_processes(Channel& channel) {
  const bool children = reap_children();  // orphans of the command are children, too
  const uint64_t now = monotonic_ns();
  if (channel.live_sources() == 0 && !channel.expects_callers()) {
    return children && now < linger_until_ns_;
  }
  linger_until_ns_ = now + kLastLingerNs;
  if (!std::exchange(said_waiting_, true)) {
    log::info("the command has ended; waiting for its other processes that use a GPU (Ctrl-C ends the recording)");
  }
  return true;
}

std::vector<std::string> Command::running(const Channel& channel, bool only_recorded) const {
  constexpr uint64_t kMostNs = 100'000'000;
  size_t tasks = 4096;
  const uint64_t until = monotonic_ns() + kMostNs;
  const std::string proc = "/proc";
  reap_children();
  // gpuprof adopts processes whose parents have ended, so all processes of the command descend from it.
  std::vector<pid_t> all;
  add_children(proc, ::getpid(), until, {tasks, kMostRunning}, all);
  std::vector<std::string> texts;
  for (size_t i = 0; i < all.size(); ++i) {
    const pid_t pid = all[i];
    const std::string folder = proc + "/" + std::to_string(pid);
    // A process that has ended has no arguments any more.
    const bool runs = !is_stranger(pid) && !read_text(folder + "/cmdline", 1).empty();
    if (runs && (!only_recorded || channel.has_source_of(pid))) {
      std::string name = read_text(folder + "/comm", 64);
      name.erase(std::min(name.find('\n'), name.size()));
      texts.push_back(std::to_string(pid) + " (" + escaped(name) + ")");
    }
    if (!is_stranger(pid)) {
      add_children(proc, pid, until, {tasks, kMostRunning}, all);
    }
  }
  return texts;
}

void Command::pass_on_stop(const Signals::Event& event) {
  const uint64_t now = monotonic_ns();
  stops_ = now - last_stop_ns_ > kSignalMemoryNs ? 1 : stops_ + 1;
  last_stop_ns_ = now;
  if (!target_) {
    return;
  }
  // Send the signal if the terminal has not: a target in its own session receives no signals from the recorder's
  // terminal.
  if (stops_ == 1 && (!event.from_terminal || target_->has_own_session())) {
    target_->send(event.signal);
  } else if (stops_ == 2) {
    log::info("sent SIGTERM to the target; at the next signal, gpuprof kills it");
    target_->send(SIGTERM);
  } else if (stops_ > 2) {
    target_->send(SIGKILL);
  }
}

void Command::pause_with_us() const {
  if (!target_ || !target_->has_own_session()) {  // the terminal has stopped the target, too
    sigset_t stop;
    sigset_t before;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    ::raise(SIGTSTP);
    ::pthread_sigmask(SIG_UNBLOCK, &stop, &before);  // blocks until the shell continues the recorder
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return;
  }
  target_->send(SIGSTOP);
  ::raise(SIGSTOP);  // blocks until the shell continues the recorder
  target_->send(SIGCONT);
}

}  // namespace gpuprof::record
