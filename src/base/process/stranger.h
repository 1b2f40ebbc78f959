// Processes that read a stranger's data. Parsers have errors, so hostile data may take such a process over. It must
// then be able to harm nobody. Each process that reads ELF, DWARF or GPU code of a target calls become_stranger()
// first.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace gpuprof {

// 0: unlimited.
struct StrangerLimits {
  uint64_t cpu_seconds = 0;
  uint64_t address_space = 0;   // bytes
  uint64_t private_memory = 0;  // bytes that are not a file's
};

// Gives up what this process has in common with others: root's ids (for a random uid that nobody has), groups,
// capabilities, the terminal's session, the session keyring, the current folder. From then on it gets no new rights,
// opens files only for reading, and cannot signal, trace or connect. Allocates no memory, so it may follow a fork of a
// process with threads. Returns false if a step failed: the caller must exit.
bool become_stranger(const StrangerLimits& limits);

// Restricts the process further: it can only read open descriptors, receive and send through `socket`, write to stdout,
// manage its memory and exit. Other processes of its user cannot inspect it. Call it after become_stranger().
bool confine_to_answers(int socket);

struct StrangerProgram {
  std::string program;                 // path
  std::vector<std::string> arguments;  // without the program's name
  int data = -1;                       // becomes descriptor kDataFd
  int output = -1;                     // becomes standard output; -1: /dev/null
  // The program becomes a stranger before it starts. False: the program is gpuprof, and calls become_stranger() itself,
  // because the stranger may have no right to execute gpuprof's file.
  bool foreign = true;
  StrangerLimits limits;  // for a foreign program
};

inline constexpr int kDataFd = 3;

// Starts the program with no environment but LC_ALL=C, and no other descriptors than stated. Returns its pidfd, or a
// closed descriptor. A foreign program is killed when the calling thread ends.
UniqueFd start_stranger(const StrangerProgram& program);

// Returns whether start_stranger() has started the process. It is no process of a recording. Thread-safe.
bool is_stranger(pid_t pid);

// Reaps the children of gpuprof that have ended. Skips those of start_stranger(): end_stranger() reaps them, because a
// process's group can be killed only before that. Returns whether other children run.
bool reap_children();

// Kills the process, and waits for its end if it may be killed. Close the other end of `data` before, so that gpuprof's
// own readers end in any case.
void end_stranger(const UniqueFd& process);

}  // namespace gpuprof
