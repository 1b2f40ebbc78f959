// The options that say what of a CPU stack is shown, for all commands that show stacks.
#pragma once

#include <string>
#include <vector>

#include "analyze/stack_view.h"
#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gpuprof::cmd {

class StackChoices {
 public:
  void declare(CLI::App& app);

  // One of the options was given.
  [[nodiscard]] bool any() const;

  // Sets what was chosen; `lines` stays as it is. The Error of a bad or empty value has the exit code kExitUsage.
  Status apply(analyze::StackOptions& options) const;

  // Tells on stderr how many stacks --trim-to has not trimmed.
  void explain(const analyze::StackView::Trimmed& trimmed) const;

 private:
  bool collapse_recursion_ = false;
  std::vector<std::string> hide_;
  std::vector<std::string> only_;
  std::string trim_to_;
  const CLI::Option* trim_to_option_ = nullptr;
  std::string python_;
};

}  // namespace gpuprof::cmd
