// The measures of reports and pictures.
#pragma once

#include <cstdint>

namespace gpuprof::analyze {

// What a report or picture measures. `gpu`: GPU time, records and bytes, or sample counts if the profile has nothing
// else. `busy`, `exclusive`: the device's time from SHARE lines. `samples`: sample counts. Not GPU work: `idle` time;
// time and number of calls that `wait` for the GPU; number and bytes of allocations (`alloc`).
enum class Measure : uint8_t { gpu, busy, exclusive, samples, idle, wait, alloc };

}  // namespace gpuprof::analyze
