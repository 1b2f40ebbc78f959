#include "record/session/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace gpuprof::record {

void Clocks::look(const Correlator& correlator, const backend::Backends& backends) {
  if (watching_ || correlator.device_indices().empty()) {
    return;
  }
  watching_ = true;
  for (const auto& backend : backends) {
    backend->watch_clocks();
  }
}

void Clocks::finish(Correlator& correlator, const backend::Backends& backends) {
  if (!watching_) {
    return;
  }
  // Devices with the same index share a META line. If each process sees only one device, all devices have index 0.
  std::map<uint32_t, backend::DeviceClock> by_index;
  for (const auto& backend : backends) {
    for (const backend::DeviceClock& clock : backend->take_clocks()) {
      const auto index = correlator.device_indices().find(clock.uuid);
      if (index == correlator.device_indices().end() || clock.samples == 0) {
        continue;  // a device that the target does not use
      }
      backend::DeviceClock& sum = by_index[index->second];
      const uint64_t samples = sum.samples + clock.samples;
      sum.min_mhz = sum.samples == 0 ? clock.min_mhz : std::min(sum.min_mhz, clock.min_mhz);
      sum.max_mhz = std::max(sum.max_mhz, clock.max_mhz);
      sum.mean_mhz +=
          (clock.mean_mhz - sum.mean_mhz) * static_cast<double>(clock.samples) / static_cast<double>(samples);
      sum.samples = samples;
    }
  }
  for (const auto& [index, clock] : by_index) {
    correlator.add_meta(
        "gpu.sm_clock_mhz." + std::to_string(index),
        fmt::format("{} {:.1f} {:.0f} {:.0f}", clock.samples, clock.mean_mhz, clock.min_mhz, clock.max_mhz));
  }
}

}  // namespace gpuprof::record
