// Numbers the devices of a session. A device used by two processes has one id.
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
  static constexpr size_t kMaxDevices = 65536;  // further devices get id 0

  explicit DeviceTable(MemoryBudget* memory) : memory_(memory) {}

  // Returns the id of a device, which its uuid identifies, or its index and name if `uuid` is empty; 0: too many
  // devices.
  profile::DeviceId intern(const std::string& backend, uint32_t index, const std::string& name,
                           const std::string& uuid);
  // Maps uuids to indices. Devices without a uuid are missing.
  [[nodiscard]] const std::map<std::string, uint32_t>& indices() const { return indices_; }
  std::vector<NewDevice> take_new() { return std::exchange(new_, {}); }

 private:
  MemoryBudget* memory_;
  std::unordered_map<std::string, profile::DeviceId> ids_;
  std::map<std::string, uint32_t> indices_;
  std::vector<NewDevice> new_;
};

}  // namespace gpuprof::record
