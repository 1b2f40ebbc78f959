// Finds out whether ranks share a device.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "profile/records.h"

namespace gpuprof::analyze {

class SharedDevices {
 public:
  // Takes GPU work. `rank` is any id of a rank. Ignores work without a device.
  void add(profile::DeviceId device, uint32_t rank) {
    const uint32_t id = index(device);
    found_ = (id != 0 && ranks_.try_emplace(id, rank).first->second != rank) || found_;
  }

  // True if work of two ranks ran on one device.
  [[nodiscard]] bool found() const { return found_; }

 private:
  std::unordered_map<uint32_t, uint32_t> ranks_;  // first rank of each device
  bool found_ = false;
};

}  // namespace gpuprof::analyze
