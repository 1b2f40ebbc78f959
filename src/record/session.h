// One recording, from the first fork to the END record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/target.h"

namespace gpuprof::record {

enum class StackChoice : uint8_t { best, bpf, none };

struct SessionOptions {
  std::vector<std::string> command;  // what to run; empty with `attach_pid`
  uint32_t attach_pid = 0;           // count the launches of this running process instead
  std::string output = "gpuprof.txt";
  std::string user;  // run the command as this user
  StackChoice stacks = StackChoice::best;
  uint64_t interval_ns = 1'000'000'000;  // time slice
  bool wait_for_children = true;         // after the command's end, for processes of it that still use a GPU
};

// Records, writes the profile and prints the summary line. The value is the wait status (as of waitpid) of the
// command; 0 for attach_pid.
Result<int> run_session(const SessionOptions& options);

}  // namespace gpuprof::record
