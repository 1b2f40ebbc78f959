#include "cmd/common/pattern_option.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/return_if_error.h"

namespace gpuprof::cmd {

void PatternOption::declare(CLI::App& app, const char* name, const char* text) {
  name_ = name;
  option_ = app.add_option(name, text_, text)->type_name("REGEX");
}

bool PatternOption::given() const {
  return option_->count() > 0;
}

std::string PatternOption::as_typed() const {
  return given() ? " " + std::string(name_) + " '" + text_ + "'" : "";
}

Status PatternOption::take(std::optional<Pattern>& pattern) const {
  if (given()) {
    auto compiled = Pattern::compile(name_, text_);
    RETURN_IF_ERROR(compiled);
    pattern = std::move(compiled).value();
  }
  return {};
}

}  // namespace gpuprof::cmd
