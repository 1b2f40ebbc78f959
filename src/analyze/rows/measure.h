// What of a profile is looked at.
#pragma once

#include <cstdint>

namespace gpuprof::analyze {

// Weights are GPU time, records and bytes for `gpu`. For busy and exclusive, ns is that share of the device's time.
// `samples` are counts; a profile that has nothing else gives them for `gpu`, too. The last three are not GPU work: ns
// of idle time; ns and number of calls that wait for the GPU; number and bytes of allocations.
enum class Measure : uint8_t { gpu, busy, exclusive, samples, idle, wait, alloc };

}  // namespace gpuprof::analyze
