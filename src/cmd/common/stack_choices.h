// The options that select which parts of CPU stacks are shown, for all commands that show stacks.
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

  [[nodiscard]] bool any() const;

  static constexpr const char* kNames =
      "--root, --from-start, --python, --only, --hide, --collapse-recursion, --addresses and --no-lines";

  // Sets all members of `options` except `lines`. Fails with the exit code kExitUsage if a value is invalid or empty.
  Status apply(analyze::StackOptions& options) const;

  // Reports on stderr how many stacks --root left untrimmed.
  void explain(const analyze::StackView::Trimmed& trimmed) const;

 private:
  bool collapse_recursion_ = false;
  std::vector<std::string> hide_;
  std::vector<std::string> only_;
  std::string trim_to_;
  bool from_start_ = false;
  bool no_lines_ = false;
  bool addresses_ = false;
  const CLI::Option* trim_to_option_ = nullptr;
  std::string python_;
};

}  // namespace gpuprof::cmd
