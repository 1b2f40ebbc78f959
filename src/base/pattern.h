// Regular expressions that a user gives. POSIX extended: unlike std::regex they take names of any length, and throw
// nothing.
#pragma once

#include <regex.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace gpuprof {

class Pattern {
 public:
  // `option` is what the error names. An empty text is an error: it would match everything.
  static Result<Pattern> compile(std::string_view option, const std::string& text);

  // Somewhere in the text, which ends at its first NUL.
  [[nodiscard]] bool matches(const std::string& text) const;

 private:
  explicit Pattern(std::shared_ptr<const regex_t> regex) : regex_(std::move(regex)) {}

  std::shared_ptr<const regex_t> regex_;
};

}  // namespace gpuprof
