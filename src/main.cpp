// gpuprof <command> ...: finds the command, parses its options, runs it and prints its error.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file.h"
#include "base/files/standard_streams.h"
#include "base/log.h"
#include "base/version.h"
#include "cmd/command.h"
#include "cmd/common/options.h"

namespace {

using gpuprof::Error;
using gpuprof::cmd::Entry;

int fail(const Error& error) {
  if (!error.message.empty()) {  // empty: the reader of gpuprof's output has exited
    gpuprof::log::error(error);
  }
  return error.exit_code;
}

// Prints the requested text. Returns a failure if it cannot be written.
int print(const std::string& text) {
  const gpuprof::FileLimitAsError limit;
  const gpuprof::Status written = gpuprof::write_all(STDOUT_FILENO, text, "standard output");
  return written ? 0 : fail(written.error());
}

// `arguments` begins with the command's name, like argv.
int run(const Entry& entry, const std::vector<const char*>& arguments) {
  const std::string name = std::string("gpuprof ") + entry.name;
  CLI::App app(entry.summary, name);
  gpuprof::cmd::Levels levels;
  const auto command = entry.make();
  gpuprof::cmd::declare_all(app, *command, levels);
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::Success& success) {
    return print(app.help("", dynamic_cast<const CLI::CallForAllHelp*>(&success) != nullptr
                                  ? CLI::AppFormatMode::All
                                  : CLI::AppFormatMode::Normal));  // --help, --help-all
  } catch (const CLI::ParseError& error) {
    return fail(gpuprof::cmd::unusable_arguments(app, error));
  }
  gpuprof::log::set_level(levels.quiet     ? gpuprof::log::Level::quiet
                          : levels.verbose ? gpuprof::log::Level::verbose
                                           : gpuprof::log::Level::normal);
  const gpuprof::Result<int> code = command->run();
  return code ? *code : fail(code.error());
}

int unknown(std::string_view first) {
  const std::string what = first.starts_with("-") ? "unknown option '" + std::string(first) + "'"
                                                  : "unknown command '" + std::string(first) + "'";
  const Entry* const similar = gpuprof::cmd::similar_command(first);
  const std::string meant = similar == nullptr ? "" : "did you mean " + std::string(similar->name) + "? ";
  return fail({what, meant + "the commands are " + gpuprof::cmd::command_names() + "; gpuprof --help says more",
               gpuprof::kExitUsage});
}

// `arguments`: those after the program's name.
int dispatch(std::vector<const char*> arguments) {
  const auto is_level = [](std::string_view text) {
    return text == "-q" || text == "--quiet" || text == "-v" || text == "--verbose";
  };
  const auto name = std::find_if_not(arguments.begin(), arguments.end(), is_level);
  if (name == arguments.end()) {
    std::fputs((gpuprof::cmd::help_text() + "\n").c_str(), stderr);
    return fail({"no command given", "begin with: gpuprof record -- COMMAND", gpuprof::kExitUsage});
  }
  std::rotate(arguments.begin(), name, name + 1);  // moves the command's name before the options that preceded it
  const std::string_view first = arguments.front();
  if (first == "--version" || first == "-V" || first == "version") {
    const std::string commit(gpuprof::commit());
    return print("gpuprof " + std::string(gpuprof::version()) + (commit.empty() ? "\n" : " (commit " + commit + ")\n"));
  }
  if (const Entry* const entry = gpuprof::cmd::find_command(first)) {
    return run(*entry, arguments);
  }
  const bool help_wanted = first == "--help" || first == "-h" || first == "help";
  if (help_wanted && arguments.size() > 1) {
    const Entry* const entry = gpuprof::cmd::find_command(arguments[1]);
    return entry != nullptr ? run(*entry, {entry->name, "--help"}) : unknown(arguments[1]);
  }
  if (help_wanted) {
    return print(gpuprof::cmd::help_text());
  }
  return unknown(first);
}

}  // namespace

int main(int argc, char** argv) {
  gpuprof::hold_standard_streams();
  try {
    return dispatch({argv + std::min(argc, 1), argv + argc});
  } catch (const std::exception& error) {  // probably out of memory; gpuprof's own code does not throw
    return fail({error.what(), ""});
  }
}
