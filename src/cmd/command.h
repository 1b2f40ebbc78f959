// One file a subcommand; command_table.cpp lists them.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"

namespace CLI {
class App;
}

namespace gpuprof::cmd {

// Exit codes of gpuprof itself; `record` otherwise exits as the target did.
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  virtual void declare(CLI::App& app) = 0;  // options of `app`, which is this command's
  virtual Result<int> run() = 0;            // the exit code
};

struct Entry {
  const char* name;
  const char* summary;
  std::unique_ptr<Command> (*make)();
};

std::span<const Entry> command_table();

std::unique_ptr<Command> make_record();
std::unique_ptr<Command> make_flame();
std::unique_ptr<Command> make_report();
std::unique_ptr<Command> make_dump();
std::unique_ptr<Command> make_doctor();

}  // namespace gpuprof::cmd
