// A regular expression of the user, in RE2 syntax. Matching takes linear time, so no name or pattern can stall a
// command.
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
  // Errors name the `option`. An empty text is an error, because it would match everything.
  static Result<Pattern> compile(std::string_view option, const std::string& text);

  // Returns whether the pattern matches any part of the text.
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> regex) : regex_(std::move(regex)) {}

  std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace gpuprof
