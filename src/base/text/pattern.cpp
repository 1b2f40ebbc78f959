#include "base/text/pattern.h"

#include <re2/re2.h>

namespace gpuprof {
namespace {

constexpr int kUsage = 2;

}  // namespace

Result<Pattern> Pattern::compile(std::string_view option, const std::string& text) {
  if (text.empty()) {
    return Error{std::string(option) + ": the regular expression is empty", "a . matches every name", kUsage};
  }
  re2::RE2::Options options;
  // Matches bytes, because names may not be valid UTF-8.
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_dot_nl(true);
  options.set_log_errors(false);
  auto regex = std::make_shared<const re2::RE2>(text, options);
  if (!regex->ok()) {
    return Error{std::string(option) + ": not a regular expression: " + regex->error(),
                 "put a \\ before characters that are meant literally; lookahead and backreferences are not supported",
                 kUsage};
  }
  return Pattern(std::move(regex));
}

bool Pattern::matches(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *regex_);
}

}  // namespace gpuprof
