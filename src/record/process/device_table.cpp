#include "record/process/device_table.h"

namespace gpuprof::record {

profile::DeviceId DeviceTable::intern(const std::string& backend, uint32_t index, const std::string& name,
                                      const std::string& uuid) {
  // A process may see only some of the devices and count them from 0, so a uuid identifies a device better than an
  // index.
  const std::string which = uuid.empty() ? std::to_string(index) + "\n" + name : "\n" + uuid;
  const std::string key = backend + "\n" + which;
  if (const auto known = ids_.find(key); known != ids_.end()) {
    return known->second;
  }
  if (ids_.size() >= kMaxDevices || !memory_->admit()) {
    return {};
  }
  const profile::DeviceId id{static_cast<uint32_t>(ids_.size() + 1)};
  ids_.emplace(key, id);
  if (!uuid.empty()) {
    indices_.emplace(uuid, index);
  }
  new_.push_back({id, backend, index, name, uuid});
  return id;
}

}  // namespace gpuprof::record
