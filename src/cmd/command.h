// The interface of a subcommand. command_table.cpp lists all of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/exit_status.h"
#include "base/result.h"

namespace CLI {
class App;
}

namespace gpuprof::cmd {

class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  virtual void declare(CLI::App& app) = 0;
  virtual Result<int> run() = 0;
};

struct Entry {
  const char* name;
  const char* summary;
  std::unique_ptr<Command> (*make)();
};

std::span<const Entry> command_table();
const Entry* find_command(std::string_view name);  // nullptr if no command has this name
std::string command_names();                       // for example "record, flame, ..."
std::string help_text();

// Returns the command that a misspelt name most likely means, or nullptr if none has a similar name.
const Entry* similar_command(std::string_view name);

std::unique_ptr<Command> make_record();
std::unique_ptr<Command> make_flame();
std::unique_ptr<Command> make_report();
std::unique_ptr<Command> make_annotate();
std::unique_ptr<Command> make_diff();
std::unique_ptr<Command> make_check();
std::unique_ptr<Command> make_latency();
std::unique_ptr<Command> make_export();
std::unique_ptr<Command> make_ranks();
std::unique_ptr<Command> make_merge();
std::unique_ptr<Command> make_filter();
std::unique_ptr<Command> make_split();
std::unique_ptr<Command> make_import();
std::unique_ptr<Command> make_dump();
std::unique_ptr<Command> make_doctor();
// Not in command_table(), because only gpuprof itself runs them:
std::unique_ptr<Command> make_disassemble();
std::unique_ptr<Command> make_read_for_recorder();
std::unique_ptr<Command> make_completion();
std::unique_ptr<Command> make_complete();  // not in command_table(), because only shell completions run it
std::unique_ptr<Command> make_manual();

}  // namespace gpuprof::cmd
