#include "cmd/check/words.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/exit_status.h"

namespace gpuprof::cmd {
namespace {

// What lies on both sides of the only `mark`, neither of it empty.
std::optional<TwoSides> split_at(const Words& words, const std::string& mark) {
  const auto at = std::find(words.begin(), words.end(), mark);
  if (at == words.end() || at == words.begin() || at + 1 == words.end() ||
      std::find(at + 1, words.end(), mark) != words.end()) {
    return std::nullopt;
  }
  return TwoSides{Words(words.begin(), at), Words(at + 1, words.end())};
}

// A command, or two, may stand behind a -- of its own.
Words without_mark(const Words& words) {
  return {words.begin() + (!words.empty() && words.front() == "--" ? 1 : 0), words.end()};
}

}  // namespace

Error check_usage(const std::string& message, std::string hint) {
  return {"check: " + message, std::move(hint), kExitUsage};
}

Result<TwoSides> two_sides_of_files(const Words& words) {
  auto sides = split_at(words, "--");
  if (!sides) {
    return check_usage("two sides are wanted: profiles of old runs, --, profiles of new runs",
                       "gpuprof check old-*.txt -- new-*.txt; --runs K records them itself");
  }
  return std::move(*sides);
}

Result<TwoSides> two_commands(const Words& words) {
  auto commands = split_at(without_mark(words), "---");
  if (!commands) {
    return check_usage(
        "two commands are wanted, with --- between them",
        "gpuprof check --runs 5 -- ./old-app --- ./new-app; for one command: --self, --baseline or --max");
  }
  return std::move(*commands);
}

Result<Words> one_command(const Words& words) {
  Words command = without_mark(words);
  if (command.empty() || std::find(command.begin(), command.end(), "---") != command.end()) {
    return check_usage("one command is wanted", "gpuprof check --self 10 -- ./app");
  }
  return command;
}

Words files_of_one_side(Words words) {
  std::erase(words, "--");
  return words;
}

}  // namespace gpuprof::cmd
