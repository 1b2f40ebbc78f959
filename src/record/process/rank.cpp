#include "record/process/rank.h"

#include <algorithm>

namespace gpuprof::record {

bool is_rank(std::string_view value) {
  constexpr size_t kMaxDigits = 9;
  return !value.empty() && value.size() <= kMaxDigits &&
         value.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string rank_of(std::string_view environment) {
  for (const std::string_view name : kRankVariables) {
    for (size_t at = 0; at < environment.size();) {
      const size_t end = std::min(environment.find('\0', at), environment.size());
      const std::string_view entry = environment.substr(at, end - at);
      if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
        if (const std::string_view value = entry.substr(name.size() + 1); is_rank(value)) {
          return std::string(value);
        }
      }
      at = end + 1;
    }
  }
  return {};
}

}  // namespace gpuprof::record
