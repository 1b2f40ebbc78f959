// The options that say what of a CPU stack is shown, for all commands that show stacks.
#pragma once

#include <string>
#include <vector>

#include "analyze/paths/stack_view.h"
#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gpuprof::cmd {

class StackChoices {
 public:
  void declare(CLI::App& app);

  [[nodiscard]] bool without_lines() const { return no_lines_; }

  // One of the options was given.
  [[nodiscard]] bool any() const;

  // The options, for a message.
  static constexpr const char* kNames =
      "--root, --from-start, --python, --only, --hide, --collapse-recursion and --no-lines";

  // Sets what was chosen; `lines` stays as it is. The Error of a bad or empty value has the exit code kExitUsage.
  Status apply(analyze::StackOptions& options) const;

  // Tells on stderr how many stacks --root has not trimmed.
  void explain(const analyze::StackView::Trimmed& trimmed) const;

 private:
  bool collapse_recursion_ = false;
  std::vector<std::string> hide_;
  std::vector<std::string> only_;
  std::string trim_to_;
  bool from_start_ = false;
  bool no_lines_ = false;
  const CLI::Option* trim_to_option_ = nullptr;
  std::string python_;
};

}  // namespace gpuprof::cmd
