#include "record/process/instruments.h"

#include <algorithm>
#include <string_view>

#include "base/path.h"

namespace gpuprof::record {

bool Instruments::cover(const symbolize::Mapping* mapping) const {
  if (mapping == nullptr) {
    return false;
  }
  // What was brought into a running process is "/memfd:libgpuprof_cupti.so (deleted)".
  constexpr std::string_view kMemfd = "memfd:";
  std::string_view file = base_name(mapping->name);
  if (file.starts_with(kMemfd)) {
    file.remove_prefix(kMemfd.size());
  }
  return std::any_of(beginnings_.begin(), beginnings_.end(),
                     [file](const std::string& beginning) { return file.starts_with(beginning); });
}

}  // namespace gpuprof::record
