// An option whose value is a regular expression that selects names.
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

  // Returns the option as a text for messages, such as " --kernel 'heavy'", or "" if it was not given.
  [[nodiscard]] std::string as_typed() const;

  // Sets `pattern` if the option was given. Fails with the exit code kExitUsage if the expression is invalid or
  // empty.
  Status take(std::optional<Pattern>& pattern) const;

 private:
  const char* name_ = "";
  const CLI::Option* option_ = nullptr;
  std::string text_;
};

}  // namespace gpuprof::cmd
