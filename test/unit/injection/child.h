#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace gpuprof::test {

using Environment = std::vector<std::pair<std::string, std::string>>;

inline void set_environment(const Environment& environment) {
  for (const auto& [name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
}

inline int wait_for(pid_t pid) {
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

// Runs `body` in a forked child, which exits with the value of `body` and without exit handlers.
template <typename Body>
pid_t fork_child(const Environment& environment, const Body& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(100);  // a child that hangs fails the test instead of blocking it
    set_environment(environment);
    _exit(body());
  }
  return pid;
}

struct Program {
  pid_t pid = -1;
  UniqueFd output;  // the child's stdout
};

inline Program start_program(const std::vector<std::string>& command, const Environment& environment) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return {};
  }
  Program program;
  program.output.reset(ends[0]);
  UniqueFd write_end(ends[1]);
  program.pid = fork();
  if (program.pid == 0) {
    alarm(100);
    set_environment(environment);
    dup2(write_end.get(), STDOUT_FILENO);
    std::vector<char*> argv;
    argv.reserve(command.size() + 1);
    for (const std::string& word : command) {
      argv.push_back(const_cast<char*>(word.c_str()));
    }
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  return program;
}

inline std::string read_all(int fd) {
  std::string all;
  char part[4096];
  ssize_t got = 0;
  while ((got = read(fd, part, sizeof(part))) > 0) {
    all.append(part, static_cast<size_t>(got));
  }
  return all;
}

}  // namespace gpuprof::test
