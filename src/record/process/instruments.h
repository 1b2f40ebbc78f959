// Files whose innermost frames are in a stack only because we are recording: our library and the vendor's tool
// libraries.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "symbolize/process_maps.h"

namespace gpuprof::record {

class Instruments {
 public:
  Instruments() = default;
  explicit Instruments(std::vector<std::string> beginnings) : beginnings_(std::move(beginnings)) {}  // of file names

  static Instruments of(const backend::Backends& backends);

  [[nodiscard]] bool cover(const symbolize::ProcessMaps& maps, uint64_t address) const {
    return cover(maps.find(address));
  }
  [[nodiscard]] bool cover(const symbolize::Mapping* mapping) const;  // null: false

 private:
  std::vector<std::string> beginnings_;
};

}  // namespace gpuprof::record
