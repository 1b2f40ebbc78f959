#include "cmd/common/stack_choices.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/utf8.h"
#include "cmd/command.h"
#include "cmd/common/options.h"

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
  trim_to_option_ = app.add_option("--root,--trim-to", trim_to_, "begin stacks at this function: drop its callers")
                        ->type_name("FUNCTION");
  app.add_flag("--from-start", from_start_, "also show startup frames: before main, <module> or a thread's function");
  expect_one_of(app.add_option("--python", python_, "how to show stacks with Python frames (default: frames)"),
                {"frames", "native", "off"});
  app.add_option("--only", only_, "show only CPU frames that match; repeatable")
      ->allow_extra_args(false)
      ->type_name("REGEX");
  app.add_option("--hide", hide_, "hide CPU frames that match; repeatable")
      ->allow_extra_args(false)
      ->type_name("REGEX");
  app.add_flag("--collapse-recursion", collapse_recursion_, "show only the innermost repetition of a recursion");
  app.add_flag("--addresses", addresses_, "show each frame of a library without symbols, with its address");
  app.add_flag("--no-lines", no_lines_, "show Python frames without line numbers");
}

bool StackChoices::any() const {
  return collapse_recursion_ || !hide_.empty() || !only_.empty() || trim_to_option_->count() > 0 || !python_.empty() ||
         from_start_ || no_lines_ || addresses_;
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
  options.addresses = addresses_;
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
              quoted(trim_to_) + " (--root): they are shown from their usual start");
  }
}

}  // namespace gpuprof::cmd
