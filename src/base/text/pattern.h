// Regular expressions that a user gives, in RE2's syntax. A match takes time linear in the text, so neither a name from
// a target nor a pattern can stall a command.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace gpuprof {

class Pattern {
 public:
  // `option` is what the error names. An empty text is an error: it would match everything.
  static Result<Pattern> compile(std::string_view option, const std::string& text);

  // Whether the pattern matches somewhere in the text.
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> regex) : regex_(std::move(regex)) {}

  std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace gpuprof
