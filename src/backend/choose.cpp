#include <algorithm>

#include "backend/backend.h"

namespace gpuprof::backend {

Result<Backends> choose(Backends all, const std::vector<std::string>& names) {
  const auto named = [&](const Backend& backend) {
    return std::find(names.begin(), names.end(), backend.descriptor().name) != names.end();
  };
  for (const std::string& name : names) {
    if (std::none_of(all.begin(), all.end(), [&](const auto& one) { return one->descriptor().name == name; })) {
      std::string known;
      for (const auto& one : all) {
        known += (known.empty() ? "" : ", ") + std::string(one->descriptor().name);
      }
      return Error{"no backend '" + name + "'", "there are " + known, kExitUsage};
    }
  }
  std::erase_if(all, [&](const auto& one) { return names.empty() ? one->only_by_name() : !named(*one); });
  return all;
}

}  // namespace gpuprof::backend
