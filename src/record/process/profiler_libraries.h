// Recognizes profiler frames: those in injection libraries or vendors' tool libraries. Stacks are shown without them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "symbolize/process_maps.h"

namespace gpuprof::record {

class ProfilerLibraries {
 public:
  ProfilerLibraries() = default;
  // `beginnings`: prefixes of the libraries' file names.
  explicit ProfilerLibraries(std::vector<std::string> beginnings) : beginnings_(std::move(beginnings)) {}

  static ProfilerLibraries of(const backend::Backends& backends);

  [[nodiscard]] bool cover(const symbolize::ProcessMaps& maps, uint64_t address) const {
    return cover(maps.find(address));
  }
  [[nodiscard]] bool cover(const symbolize::Mapping* mapping) const;  // null: returns false

 private:
  std::vector<std::string> beginnings_;
};

}  // namespace gpuprof::record
