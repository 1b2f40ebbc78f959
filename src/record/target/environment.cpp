#include "record/target/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/edits.h"
#include "wire/wire.h"

namespace gpuprof::record {
namespace {

constexpr std::string_view kPrefix = "GPUPROF_";
constexpr size_t kLongestName = 64;

// docs/cli.md lists them.
constexpr std::array<std::string_view, 5> kVariables = {"GPUPROF_UNWIND_CACHE", "GPUPROF_DEBUG_BPF",
                                                        "GPUPROF_CUPTI_PATH", "GPUPROF_CUPTI_DOMAINS",
                                                        "GPUPROF_CUPTI_FLUSH_MS"};
// What we set for targets.
constexpr std::array<std::string_view, 4> kInternal = {GPUPROF_ENV_SOCKET, GPUPROF_ENV_TOKEN, GPUPROF_ENV_UID,
                                                       GPUPROF_ENV_NEXT_CUDA_INJECTION};

// The one of ours that `name` is most likely meant to be: a few letters are other ones, or a part is missing.
std::string_view meant_by(std::string_view name) {
  const std::string_view rest = name.substr(kPrefix.size());
  constexpr size_t kMostEdits = 2;
  constexpr size_t kShortestPart = 4;
  std::string_view best;
  size_t fewest = kMostEdits + 1;
  for (const std::string_view variable : kVariables) {
    const std::string_view known = variable.substr(kPrefix.size());
    const bool part = rest.size() >= kShortestPart && known.find(rest) != std::string_view::npos;
    const size_t needed = part ? 0 : name.size() > kLongestName ? fewest : edits(rest, known);
    if (needed < fewest) {
      fewest = needed;
      best = variable;
    }
  }
  return best;
}

}  // namespace

std::vector<Error> check_environment(std::span<const std::string> environment,
                                     const std::vector<std::unique_ptr<backend::Backend>>& backends) {
  std::vector<Error> remarks;
  for (const std::string& entry : environment) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    const auto is_name = [name](std::string_view known) { return known == name; };
    if (!name.starts_with(kPrefix) || std::any_of(kInternal.begin(), kInternal.end(), is_name)) {
      continue;
    }
    if (std::none_of(kVariables.begin(), kVariables.end(), is_name)) {
      if (const std::string_view meant = meant_by(name); !meant.empty()) {
        remarks.push_back(
            {"the environment variable " + std::string(name) + " is none of gpuprof's, and changes nothing",
             "did you mean " + std::string(meant) + "?"});
      }
      continue;
    }
    for (const auto& backend : backends) {
      const size_t value = std::min(entry.size(), name.size() + 1);
      if (auto remark = backend->check_variable(name, entry.substr(value))) {
        remarks.push_back(std::move(*remark));
      }
    }
  }
  return remarks;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

}  // namespace gpuprof::record
