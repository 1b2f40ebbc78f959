#include "record/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/text/hints.h"

namespace gpuprof::record {

Result<Signals> Signals::block(bool terminal_stop) {
  sigset_t set;
  sigset_t original;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP}) {
    if (signal == SIGTSTP && !terminal_stop) {
      continue;
    }
    // Leave out ignored signals (nohup, background jobs). A blocked signal reaches the signalfd even if it is ignored.
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
      sigaddset(&set, signal);
    }
  }
  ::sigprocmask(SIG_BLOCK, &set, &original);
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) {
    return Error{std::string("signalfd: ") + std::strerror(errno), hints::kMoreFiles};
  }
  return Signals(std::move(fd), original);
}

int pending_stop() {
  sigset_t pending;
  sigemptyset(&pending);
  ::sigpending(&pending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (sigismember(&pending, signal) == 1) {
      return signal;
    }
  }
  return 0;
}

std::vector<int> ignore_write_signals() {
  std::vector<int> were_default;
  for (const int signal : {SIGPIPE, SIGXFSZ}) {
    if (::signal(signal, SIG_IGN) == SIG_DFL) {
      were_default.push_back(signal);
    }
  }
  return were_default;
}

std::optional<Signals::Event> Signals::next() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) {
    return std::nullopt;
  }
  return Event{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

}  // namespace gpuprof::record
