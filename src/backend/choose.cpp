#include <algorithm>

#include "backend/backend.h"

namespace gpuprof::backend {

Result<Backends> choose(Backends all, const std::vector<std::string>& names, bool samples) {
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
  const auto chosen = [&](const Backend& backend) { return names.empty() ? !backend.only_by_name() : named(backend); };
  for (const auto& one : all) {
    const bool knows_code = samples && std::any_of(all.begin(), all.end(), [&](const auto& other) {
                              return chosen(*other) && other->code_from() == one->descriptor().name;
                            });
    if (knows_code && !chosen(*one)) {
      one->set_code_only();
    }
  }
  std::erase_if(all, [&](const auto& one) { return !chosen(*one) && !one->is_code_only(); });
  return all;
}

}  // namespace gpuprof::backend
