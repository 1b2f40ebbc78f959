// gpuprof <command> ...: finds the command, lets it parse its options and run, prints its error.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/version.h"
#include "cmd/command.h"

namespace {

using gpuprof::Error;
using gpuprof::cmd::Entry;

constexpr const char* kExitCodes =
    "exit codes: 0 success, 1 failure, 2 usage; record exits as the program that it runs,\n"
    "            126 if that can not be executed, 127 if it does not exist\n";

int fail(const Error& error) {
  if (!error.message.empty()) {  // nothing to say: the reader of our output has gone
    gpuprof::log::error(error);
  }
  return error.exit_code;
}

std::string help() {
  std::string text =
      "gpuprof shows which code is responsible for which GPU time.\n\nusage: gpuprof <command> [options]\n\n";
  for (const Entry& entry : gpuprof::cmd::command_table()) {
    text.append("  ").append(entry.name).append(std::string(9 - std::string_view(entry.name).size(), ' '));
    text.append(entry.summary).append("\n");
  }
  return text + "\n  gpuprof <command> --help   its options\n  gpuprof --version\n\n" + kExitCodes;
}

std::string command_names() {
  std::string names;
  for (const Entry& entry : gpuprof::cmd::command_table()) {
    names.append(names.empty() ? "" : ", ").append(entry.name);
  }
  return names;
}

// argv[0] is the command's name.
int run(const Entry& entry, int argc, const char* const* argv) {
  const std::string name = std::string("gpuprof ") + entry.name;
  CLI::App app(entry.summary, name);
  bool quiet = false;
  bool verbose = false;
  app.add_flag("-q,--quiet", quiet, "print errors and warnings only");
  app.add_flag("-v,--verbose", verbose, "say what is being tried");
  const auto command = entry.make();
  command->declare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    return fail({message, name + " --help lists the options", gpuprof::cmd::kExitUsage});
  }
  gpuprof::log::set_level(quiet     ? gpuprof::log::Level::quiet
                          : verbose ? gpuprof::log::Level::verbose
                                    : gpuprof::log::Level::normal);
  const gpuprof::Result<int> code = command->run();
  return code ? *code : fail(code.error());
}

int dispatch(int argc, const char* const* argv) {
  const std::string_view first = argc < 2 ? "" : argv[1];
  if (first == "--version") {
    std::printf("gpuprof %.*s\n", static_cast<int>(gpuprof::version().size()), gpuprof::version().data());
    return 0;
  }
  if (first == "--help" || first == "-h" || first == "help") {
    std::fputs(help().c_str(), stdout);
    return 0;
  }
  for (const Entry& entry : gpuprof::cmd::command_table()) {
    if (first == entry.name) {
      return run(entry, argc - 1, argv + 1);
    }
  }
  const std::string what = first.empty() ? "no command given" : "unknown command '" + std::string(first) + "'";
  return fail({what, "the commands are " + command_names() + "; gpuprof --help says more", gpuprof::cmd::kExitUsage});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const std::exception& error) {  // out of memory, most likely; nothing of ours throws
    return fail({error.what(), ""});
  }
}
