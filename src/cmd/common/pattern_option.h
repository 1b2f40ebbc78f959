// An option that takes a regular expression, by which a command chooses names.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/text/pattern.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gpuprof::cmd {

class PatternOption {
 public:
  void declare(CLI::App& app, const char* name, const char* text);

  [[nodiscard]] bool given() const;
  [[nodiscard]] const std::string& text() const { return text_; }

  // " --kernel 'heavy'" for a message; empty where the option was not given.
  [[nodiscard]] std::string as_typed() const;

  // Sets `pattern` where the option was given. The Error of a bad or empty expression has the exit code kExitUsage.
  Status take(std::optional<Pattern>& pattern) const;

 private:
  const char* name_ = "";
  const CLI::Option* option_ = nullptr;
  std::string text_;
};

}  // namespace gpuprof::cmd
