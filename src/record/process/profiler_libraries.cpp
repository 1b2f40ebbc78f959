#include "record/process/profiler_libraries.h"

#include <algorithm>
#include <string_view>

#include "base/files/path.h"

namespace gpuprof::record {

ProfilerLibraries ProfilerLibraries::of(const backend::Backends& backends) {
  std::vector<std::string> beginnings;
  for (const auto& backend : backends) {
    const auto libraries = backend->profiler_libraries();
    beginnings.insert(beginnings.end(), libraries.begin(), libraries.end());
    if (const auto ours = backend->library().file_name; !ours.empty()) {
      beginnings.emplace_back(ours);
    }
  }
  return ProfilerLibraries(std::move(beginnings));
}

bool ProfilerLibraries::cover(const symbolize::Mapping* mapping) const {
  if (mapping == nullptr) {
    return false;
  }
  constexpr std::string_view kMemfd = "memfd:";
  std::string_view file = base_name(mapping->name);
  if (file.starts_with(kMemfd)) {
    file.remove_prefix(kMemfd.size());
  }
  return std::any_of(beginnings_.begin(), beginnings_.end(),
                     [file](const std::string& beginning) { return file.starts_with(beginning); });
}

}  // namespace gpuprof::record
