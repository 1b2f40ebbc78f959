#include "cmd/check/arguments.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/exit_status.h"
#include "base/return_if_error.h"
#include "cmd/common/options.h"

namespace gpuprof::cmd {
namespace {

// Splits the words at `mark`. It must appear exactly once, with words before and after it.
std::optional<TwoSides> split_at(const Arguments& words, const std::string& mark) {
  const auto at = std::find(words.begin(), words.end(), mark);
  if (at == words.end() || at == words.begin() || at + 1 == words.end() ||
      std::find(at + 1, words.end(), mark) != words.end()) {
    return std::nullopt;
  }
  return TwoSides{Arguments(words.begin(), at), Arguments(at + 1, words.end())};
}

// Removes a leading "--", which users may write before a command.
Arguments without_mark(const Arguments& words) {
  return {words.begin() + (!words.empty() && words.front() == "--" ? 1 : 0), words.end()};
}

}  // namespace

Error check_usage(const std::string& message, std::string hint) {
  return {"check: " + message, std::move(hint), kExitUsage};
}

Result<TwoSides> two_sides_of_files(const CLI::App& app, const Arguments& words) {
  RETURN_IF_ERROR(check_no_options(app, words));
  auto sides = split_at(words, "--");
  if (!sides) {
    return check_usage("two sides are needed: profiles of old runs, --, profiles of new runs",
                       "gpuprof check old-*.txt -- new-*.txt; --runs K records new profiles");
  }
  return std::move(*sides);
}

Result<TwoSides> two_commands(const Arguments& words) {
  auto commands = split_at(without_mark(words), "---");
  if (!commands) {
    return check_usage(
        "two commands are needed, with --- between them",
        "gpuprof check --runs 5 -- ./old-app --- ./new-app; for one command: --self, --baseline or --max");
  }
  return std::move(*commands);
}

Result<Arguments> one_command(const Arguments& words) {
  Arguments command = without_mark(words);
  if (command.empty() || std::find(command.begin(), command.end(), "---") != command.end()) {
    return check_usage("one command is needed", "gpuprof check --self 10 -- ./app");
  }
  return command;
}

Result<Arguments> files_of_one_side(const CLI::App& app, Arguments words) {
  RETURN_IF_ERROR(check_no_options(app, words));
  std::erase(words, "--");
  return words;
}

}  // namespace gpuprof::cmd
