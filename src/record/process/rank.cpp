#include "record/process/rank.h"

#include "record/process/environ.h"

namespace gpuprof::record {

bool is_rank(std::string_view value) {
  constexpr size_t kMaxDigits = 9;
  return !value.empty() && value.size() <= kMaxDigits &&
         value.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string rank_of(std::string_view environment) {
  for (const std::string_view name : kRankVariables) {
    for (const std::string_view value : values_of(environment, name)) {
      if (is_rank(value)) {
        return std::string(value);
      }
    }
  }
  return {};
}

}  // namespace gpuprof::record
