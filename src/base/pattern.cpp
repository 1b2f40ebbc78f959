#include "base/pattern.h"

#include <array>

namespace gpuprof {
namespace {

constexpr int kUsage = 2;  // exit code

void free_regex(regex_t* regex) {
  ::regfree(regex);
  delete regex;
}

}  // namespace

Result<Pattern> Pattern::compile(std::string_view option, const std::string& text) {
  if (text.empty()) {
    return Error{std::string(option) + ": the regular expression is empty", "a . matches every name", kUsage};
  }
  auto plain = std::make_unique<regex_t>();
  const int error = ::regcomp(plain.get(), text.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::array<char, 256> reason{};
    ::regerror(error, plain.get(), reason.data(), reason.size());
    return Error{std::string(option) + ": not a regular expression: " + reason.data(),
                 "put a \\ before what is meant literally", kUsage};
  }
  return Pattern(std::shared_ptr<const regex_t>(std::shared_ptr<regex_t>(plain.release(), free_regex)));
}

bool Pattern::matches(const std::string& text) const {
  return ::regexec(regex_.get(), text.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace gpuprof
