#include "cmd/check/words.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/exit_status.h"

namespace gpuprof::cmd {
namespace {

// Splits the words at `mark`, which must appear once with words on both sides.
std::optional<TwoSides> split_at(const Words& words, const std::string& mark) {
  const auto at = std::find(words.begin(), words.end(), mark);
  if (at == words.end() || at == words.begin() || at + 1 == words.end() ||
      std::find(at + 1, words.end(), mark) != words.end()) {
    return std::nullopt;
  }
  return TwoSides{Words(words.begin(), at), Words(at + 1, words.end())};
}

// Removes a leading "--", which is optional before commands.
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
    return check_usage("two sides are needed: profiles of old runs, --, profiles of new runs",
                       "gpuprof check old-*.txt -- new-*.txt; --runs K records them itself");
  }
  return std::move(*sides);
}

Result<TwoSides> two_commands(const Words& words) {
  auto commands = split_at(without_mark(words), "---");
  if (!commands) {
    return check_usage(
        "two commands are needed, with --- between them",
        "gpuprof check --runs 5 -- ./old-app --- ./new-app; for one command: --self, --baseline or --max");
  }
  return std::move(*commands);
}

Result<Words> one_command(const Words& words) {
  Words command = without_mark(words);
  if (command.empty() || std::find(command.begin(), command.end(), "---") != command.end()) {
    return check_usage("one command is needed", "gpuprof check --self 10 -- ./app");
  }
  return command;
}

Words files_of_one_side(Words words) {
  std::erase(words, "--");
  return words;
}

}  // namespace gpuprof::cmd
