#include "record/target/target.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/exit_status.h"
#include "base/process/pidfd.h"
#include "base/text/hints.h"
#include "record/target/exec_error.h"

namespace gpuprof::record {
namespace {

// The child sends this through the pipe if exec fails, or if an earlier step fails.
struct ExecFailure {
  int error = 0;
  const char* step = nullptr;  // the failed step of become_user(); null: exec or dup2 failed
};

[[noreturn]] void fail_in_child(int pipe, const char* step) {
  const ExecFailure failure{errno, step};
  (void)!::write(pipe, &failure, sizeof(failure));
  ::_exit(kExitNotFound);
}

Error start_error(const std::vector<std::string>& command, const ExecFailure& failure) {
  if (failure.step != nullptr) {
    return {"the command cannot " + std::string(failure.step) + ": " + std::strerror(failure.error),
            failure.error == EPERM ? "run gpuprof as root (sudo) to use --user" : "", kExitFailure};
  }
  return exec_error(command, failure.error);
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& text : strings) {
    result.push_back(const_cast<char*>(text.c_str()));  // NOLINT: exec's prototype predates const
  }
  result.push_back(nullptr);
  return result;
}

[[noreturn]] void become_target(const TargetSpec& spec, const std::optional<TargetUser>& user, char** argv, char** envp,
                                const sigset_t& mask, int pipe) {
  for (const int signal : spec.default_signals) {
    ::signal(signal, SIG_DFL);
  }
  if (spec.file_limit) {
    ::setrlimit(RLIMIT_NOFILE, &*spec.file_limit);
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (spec.stdout_to_stderr && ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    fail_in_child(pipe, nullptr);
  }
  if (const char* step = user ? become_user(*user) : nullptr; step != nullptr) {
    fail_in_child(pipe, step);
  }
  environ = envp;  // execvp searches the PATH of environ
  ::execvp(argv[0], argv);
  fail_in_child(pipe, nullptr);
}

}  // namespace

Result<Target> Target::spawn(const TargetSpec& spec, const std::optional<TargetUser>& user,
                             const backend::LaunchEnv& env, const sigset_t& original_mask) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{std::string("cannot make a pipe: ") + std::strerror(errno), hints::kMoreFiles};
  }
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);

  std::vector<std::string> variables;
  for (const auto& [name, value] : env.variables) {
    variables.push_back(name + "=" + value);
  }
  std::vector<char*> argv = pointers(spec.command);
  std::vector<char*> envp = pointers(variables);

  const pid_t pid = ::fork();
  if (pid < 0) {
    return Error{std::string("cannot fork: ") + std::strerror(errno), hints::kMoreProcesses};
  }
  if (pid == 0) {
    become_target(spec, user, argv.data(), envp.data(), original_mask, write_end.get());
  }

  write_end.reset();
  ExecFailure failure;
  ssize_t n = 0;
  do {
    n = ::read(read_end.get(), &failure, sizeof(failure));
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof(failure))) {
    ::waitpid(pid, nullptr, 0);
    return start_error(spec.command, failure);
  }
  UniqueFd pidfd = open_pidfd(pid);
  if (!pidfd) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return Error{std::string("cannot open a pidfd: ") + std::strerror(errno), "gpuprof needs Linux 5.8 or later"};
  }
  return Target(pid, std::move(pidfd), user.has_value());
}

void Target::send(int signal) const {
  if (!status_) {
    ::kill(own_session_ ? -pid_ : pid_, signal);
  }
}

std::optional<int> Target::try_wait() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = status;
  }
  return status_;
}

}  // namespace gpuprof::record
