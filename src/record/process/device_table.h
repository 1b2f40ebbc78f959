// The devices of a session. The same device in two processes is one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/batch.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

class DeviceTable {
 public:
  static constexpr size_t kMaxDevices = 65536;  // later ones have no number

  explicit DeviceTable(MemoryBudget* memory) : memory_(memory) {}

  // The number of a device, told by its uuid, else by its index and name; none: there is no room for it.
  profile::DeviceId intern(const std::string& backend, uint32_t index, const std::string& name,
                           const std::string& uuid);
  // By uuid; devices without one are not here.
  [[nodiscard]] const std::map<std::string, uint32_t>& indices() const { return indices_; }
  std::vector<NewDevice> take_new() { return std::exchange(new_, {}); }

 private:
  MemoryBudget* memory_;
  std::unordered_map<std::string, profile::DeviceId> ids_;
  std::map<std::string, uint32_t> indices_;
  std::vector<NewDevice> new_;
};

}  // namespace gpuprof::record
