#include "record/target.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace gpuprof::record {
namespace {

// What a child that could not exec sends back through the pipe.
struct ExecFailure {
  int error = 0;
  int step = 0;  // 0: exec, 1: becoming the user
};

[[noreturn]] void fail_in_child(int pipe, int step) {
  const ExecFailure failure{errno, step};
  (void)!::write(pipe, &failure, sizeof(failure));
  ::_exit(127);
}

Error exec_error(const std::string& program, const ExecFailure& failure) {
  const std::string text = std::strerror(failure.error);
  if (failure.step == 1) {
    return {"cannot become the user given by --user: " + text, "run gpuprof as root (sudo) to use --user", 1};
  }
  if (failure.error == ENOENT || failure.error == ENOTDIR) {
    return {"cannot run '" + program + "': not found",
            program.find('/') == std::string::npos ? "check the name, or give a path such as ./" + program
                                                   : "check the path",
            127};
  }
  return {"cannot run '" + program + "': " + text,
          failure.error == EACCES ? "make it executable: chmod +x " + program
                                  : "is it a program for this machine? try `file " + program + "`",
          126};
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

}  // namespace

Result<std::optional<TargetUser>> find_user(const std::string& name) {
  if (name.empty()) {
    return std::optional<TargetUser>();
  }
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return Error{"--user: there is no user '" + name + "'", "use a name of /etc/passwd, e.g. --user $SUDO_USER", 2};
  }
  return std::optional<TargetUser>({entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir});
}

Result<Target> Target::spawn(const TargetSpec& spec, const std::optional<TargetUser>& user,
                             const backend::LaunchEnv& env, const sigset_t& original_mask) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{std::string("cannot make a pipe: ") + std::strerror(errno), "raise the limit on open files"};
  }
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);

  backend::LaunchEnv child_env = env;
  if (user) {
    child_env.set("HOME", user->home);
    child_env.set("USER", user->name);
    child_env.set("LOGNAME", user->name);
  }
  std::vector<std::string> variables;
  for (const auto& [name, value] : child_env.variables) {
    variables.push_back(name + "=" + value);
  }
  const std::vector<char*> argv = pointers(spec.command);
  const std::vector<char*> envp = pointers(variables);

  const pid_t pid = ::fork();
  if (pid < 0) {
    return Error{std::string("cannot fork: ") + std::strerror(errno), "raise the limit on processes (ulimit -u)"};
  }
  if (pid == 0) {
    for (const int signal : spec.default_signals) {
      ::signal(signal, SIG_DFL);
    }
    if (spec.file_limit) {
      ::setrlimit(RLIMIT_NOFILE, &*spec.file_limit);
    }
    ::sigprocmask(SIG_SETMASK, &original_mask, nullptr);
    if (spec.stdout_to_stderr && ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
      fail_in_child(write_end.get(), 0);
    }
    if (user &&
        (::initgroups(user->name.c_str(), user->gid) != 0 || ::setgid(user->gid) != 0 || ::setuid(user->uid) != 0)) {
      fail_in_child(write_end.get(), 1);
    }
    ::execvpe(argv[0], argv.data(), envp.data());
    fail_in_child(write_end.get(), 0);
  }

  write_end.reset();
  ExecFailure failure;
  ssize_t n = 0;
  do {
    n = ::read(read_end.get(), &failure, sizeof(failure));
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof(failure))) {
    ::waitpid(pid, nullptr, 0);
    return exec_error(spec.command.front(), failure);
  }
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return Error{std::string("pidfd_open: ") + std::strerror(errno), "gpuprof needs Linux 5.8 or later"};
  }
  return Target(pid, std::move(pidfd));
}

void Target::send(int signal) const {
  if (!status_) {
    ::kill(pid_, signal);
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
