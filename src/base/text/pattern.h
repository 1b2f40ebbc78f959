// The user's regular expressions (RE2 syntax). Matching takes linear time, so no name or pattern can stall a command.
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
  // `option` is named in errors. An empty text is an error, because it would match everything.
  static Result<Pattern> compile(std::string_view option, const std::string& text);

  // Whether the pattern matches anywhere in the text.
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> regex) : regex_(std::move(regex)) {}

  std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace gpuprof
