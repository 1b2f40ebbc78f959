#include "record/target/environment.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text/edit_distance.h"
#include "wire/wire.h"

namespace gpuprof::record {
namespace {

constexpr std::string_view kVariablePrefix = "GPUPROF_";
constexpr size_t kLongestName = 64;

std::optional<Error> accept_any(const std::string& /*value*/) {
  return std::nullopt;
}

// Returns the variables of all backends, even of those that the recording does not use. docs/cli.md lists the variables
// for users.
std::vector<backend::Variable> all_variables() {
  std::vector<backend::Variable> all = {{"GPUPROF_UNWIND_CACHE", accept_any},
                                        {"GPUPROF_DEBUG_BPF", accept_any},
                                        {GPUPROF_ENV_SOCKET},
                                        {GPUPROF_ENV_TOKEN},
                                        {GPUPROF_ENV_UID},
                                        {GPUPROF_ENV_NVTX_RANGE}};
  for (const auto& backend : backend::make_all()) {
    const auto& variables = backend->descriptor().variables;
    all.insert(all.end(), variables.begin(), variables.end());
  }
  return all;
}

// Returns the known variable that `name` probably means: one within edit distance 2 of `name`, or one that contains it.
// Returns an empty text if no known variable is that similar.
std::string_view similar_variable(std::string_view name, std::span<const backend::Variable> variables) {
  const std::string_view rest = name.substr(kVariablePrefix.size());
  constexpr size_t kMaxEditDistance = 2;
  constexpr size_t kShortestPart = 4;
  std::string_view best;
  size_t fewest = kMaxEditDistance + 1;
  for (const backend::Variable& variable : variables) {
    if (variable.check == nullptr) {
      continue;
    }
    const std::string_view known = std::string_view(variable.name).substr(kVariablePrefix.size());
    const bool part = rest.size() >= kShortestPart && known.find(rest) != std::string_view::npos;
    const size_t needed = part ? 0 : name.size() > kLongestName ? fewest : edit_distance(rest, known);
    if (needed < fewest) {
      fewest = needed;
      best = variable.name;
    }
  }
  return best;
}

bool reads(const backend::Backend& backend, std::string_view name) {
  const auto& variables = backend.descriptor().variables;
  return std::any_of(variables.begin(), variables.end(),
                     [name](const auto& variable) { return variable.name == name; });
}

}  // namespace

std::vector<Error> check_environment(std::span<const std::string> environment,
                                     const std::vector<std::unique_ptr<backend::Backend>>& backends) {
  const std::vector<backend::Variable> ours = all_variables();
  std::vector<Error> remarks;
  for (const std::string& entry : environment) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (!name.starts_with(kVariablePrefix)) {
      continue;
    }
    const auto found =
        std::find_if(ours.begin(), ours.end(), [name](const auto& variable) { return variable.name == name; });
    if (found == ours.end()) {
      if (const std::string_view meant = similar_variable(name, ours); !meant.empty()) {
        remarks.push_back(
            {"the environment variable " + std::string(name) + " is not a gpuprof variable and is ignored",
             "did you mean " + std::string(meant) + "?"});
      }
    } else if (found->check != nullptr && std::any_of(backends.begin(), backends.end(),
                                                      [name](const auto& backend) { return reads(*backend, name); })) {
      if (auto remark = found->check(entry.substr(std::min(entry.size(), name.size() + 1)))) {
        remarks.push_back(std::move(*remark));
      }
    }
  }
  return remarks;
}

std::vector<std::string> unknown_variables(std::span<const std::string> environment) {
  const std::vector<backend::Variable> ours = all_variables();
  std::vector<std::string> unknown;
  for (const std::string& entry : environment) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    const bool is_ours =
        std::any_of(ours.begin(), ours.end(), [name](const auto& variable) { return variable.name == name; });
    if (name.starts_with(kVariablePrefix) && !is_ours && similar_variable(name, ours).empty()) {
      unknown.emplace_back(name);
    }
  }
  return unknown;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

}  // namespace gpuprof::record
