// How long an event may wait for what it refers to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::record {

// All rings are read in a turn, one after the other: after the turn (settled) only a launch or a name on another CPU's
// way can still be missing.
enum class Patience : uint8_t { fresh, settled, none };

// Turns of some milliseconds: the BPF ring buffer and the wire's rings are filled by different CPUs.
constexpr unsigned kMaxTurns = 50;
constexpr size_t kMaxWaiting = 200'000;

}  // namespace gpuprof::record
