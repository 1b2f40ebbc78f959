#include "cmd/common/stack_choices.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/log.h"
#include "base/return_if_error.h"
#include "base/utf8.h"
#include "cmd/command.h"

namespace gpuprof::cmd {
namespace {

Status compile(const char* option, const std::vector<std::string>& texts, std::vector<Pattern>& patterns) {
  for (const std::string& text : texts) {
    auto pattern = Pattern::compile(option, text);
    RETURN_IF_ERROR(pattern);
    patterns.push_back(std::move(pattern).value());
  }
  return {};
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  append_escaped(text, {}, out);
  return out + "'";
}

}  // namespace

void StackChoices::declare(CLI::App& app) {
  app.add_flag("--collapse-recursion", collapse_recursion_,
               "where up to " + std::to_string(analyze::kLongestCycle) +
                   " functions call themselves in a cycle, show the innermost round only");
  app.add_option("--hide", hide_, "leave out CPU frames whose name this regular expression matches; may be repeated")
      ->allow_extra_args(false)
      ->type_name("REGEX");
  app.add_option("--only", only_, "leave out all CPU frames but those whose name matches; may be repeated")
      ->allow_extra_args(false)
      ->type_name("REGEX");
  trim_to_option_ = app.add_option("--root,--trim-to", trim_to_,
                                   "begin stacks at their outermost frame of this function, where they have it")
                        ->type_name("FUNCTION");
  app.add_flag("--from-start", from_start_,
               "show what runs before main, <module> or a thread's function, too: frames of the loader, libc and the "
               "interpreter");
  app.add_flag("--no-lines", no_lines_,
               "Python frames without their line: stacks stay the same where a file's lines have moved");
  app.add_option("--python", python_,
                 "in stacks with Python frames: frames (default), without the interpreter's own machine code; native, "
                 "with it; off, only machine code")
      ->check(CLI::IsMember({"frames", "native", "off"}))
      ->type_name("WHAT");
}

bool StackChoices::any() const {
  return collapse_recursion_ || !hide_.empty() || !only_.empty() || trim_to_option_->count() > 0 || !python_.empty() ||
         from_start_ || no_lines_;
}

Status StackChoices::apply(analyze::StackOptions& options) const {
  if (trim_to_option_->count() > 0 && trim_to_.empty()) {
    return Error{"--root: the function's name is empty", "`gpuprof flame` shows how functions are named", kExitUsage};
  }
  RETURN_IF_ERROR(compile("--hide", hide_, options.hide));
  RETURN_IF_ERROR(compile("--only", only_, options.only));
  options.trim_to = trim_to_;
  options.from_start = from_start_;
  options.numbers = !no_lines_;
  options.collapse_recursion = collapse_recursion_;
  options.python = python_ == "native" ? analyze::PythonFrames::native
                   : python_ == "off"  ? analyze::PythonFrames::off
                                       : analyze::PythonFrames::frames;
  return {};
}

void StackChoices::explain(const analyze::StackView::Trimmed& trimmed) const {
  if (trim_to_.empty() || trimmed.without == 0) {
    return;
  }
  if (trimmed.without == trimmed.stacks) {
    log::warn("--root: no stack has a function " + quoted(trim_to_), "`gpuprof flame` shows how functions are named");
  } else {
    log::info(std::to_string(trimmed.without) + " of " + std::to_string(trimmed.stacks) + " stacks have no function " +
              quoted(trim_to_) + " (--root): these begin as without it");
  }
}

}  // namespace gpuprof::cmd
