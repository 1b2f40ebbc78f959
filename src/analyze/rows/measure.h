#pragma once

#include <cstdint>

namespace gpuprof::analyze {

// What a report or picture measures. `gpu`: GPU time, records and bytes, or sample counts if the profile has nothing
// else. `busy`, `exclusive`: the device's time from SHARE lines. `samples`: sample counts. `idle`: idle time. `wait`:
// time and number of calls that wait for the GPU. `alloc`: number and bytes of allocations.
enum class Measure : uint8_t { gpu, busy, exclusive, samples, idle, wait, alloc };

}  // namespace gpuprof::analyze
