#include "record/join/samples/address_lookup.h"

namespace gpuprof::record {

// If the window's device is a partition, also includes launches on the complete device, because they run on all its
// partitions.
const std::vector<KernelShare>& AddressLookup::shares(NameIndex kernel) {
  const auto [known, fresh] = shares_.try_emplace(kernel);
  if (fresh) {
    known->second = times_.within({source_.id, window_.device, kernel}, window_.start_ns, window_.end_ns);
    if (window_.whole != window_.device) {
      const auto more = times_.within({source_.id, window_.whole, kernel}, window_.start_ns, window_.end_ns);
      known->second.insert(known->second.end(), more.begin(), more.end());
    }
  }
  return known->second;
}

const AddressLookup::Answer& AddressLookup::find(uint64_t address, bool is_low) {
  if (asked_ == std::pair(address, is_low)) {
    return answer_;
  }
  const LoadedKernels::Sampled sampled{
      .address = address, .is_low = is_low, .device = window_.device, .whole = window_.whole};
  asked_ = std::pair(address, is_low);
  answer_ = {};
  answer_.places = loaded_.find_all(source_.process(), sampled, window_.start_ns, window_.end_ns);
  for (const CodeLocation& at : answer_.places) {
    for (const KernelShare& share : shares(at.function)) {
      answer_.ran.push_back({at, share});
    }
  }
  return answer_;
}

}  // namespace gpuprof::record
