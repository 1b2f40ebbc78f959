#include <algorithm>

#include "backend/backend.h"

namespace gpuprof::backend {

const std::string* LaunchEnv::get(std::string_view name) const {
  const auto found = std::find_if(variables.begin(), variables.end(), [&](const auto& v) { return v.first == name; });
  return found == variables.end() ? nullptr : &found->second;
}

void LaunchEnv::set(std::string_view name, std::string value) {
  const auto found = std::find_if(variables.begin(), variables.end(), [&](const auto& v) { return v.first == name; });
  if (found == variables.end()) {
    variables.emplace_back(name, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

}  // namespace gpuprof::backend
