#pragma once

#include <cstdint>
#include <optional>

#include "profile/records.h"

namespace gpuprof::analyze {

// What a report or picture measures. `gpu`: GPU time, records and bytes, or sample counts if the profile has nothing
// else. `busy`, `exclusive`: the device's time from SHARE lines. `samples`: sample counts. `idle`: idle time. `wait`:
// time and number of calls that wait for the GPU. `alloc`: number and bytes of allocations. `failed`: number of calls
// that returned an error. `no_work`: number of launches whose GPU work was not recorded. `cpu`: time in which threads
// computed. `off_cpu`: time in which they did not. `calls`: time and number of calls of a vendor's API.
enum class Measure : uint8_t { gpu, busy, exclusive, samples, idle, wait, alloc, failed, no_work, cpu, off_cpu, calls };

// Returns the operation of the HOST lines that the measure sums; nullopt for measures of a device.
constexpr std::optional<profile::Op> host_op(Measure measure) {
  switch (measure) {
    case Measure::wait:
      return profile::Op::sync;
    case Measure::alloc:
      return profile::Op::alloc;
    case Measure::failed:
      return profile::Op::failed;
    case Measure::no_work:
      return profile::Op::no_work;
    case Measure::cpu:
      return profile::Op::cpu;
    case Measure::off_cpu:
      return profile::Op::off_cpu;
    case Measure::calls:
      return profile::Op::call;
    default:
      return std::nullopt;
  }
}

// Returns whether a program that launches faster also does this more often. A program allocates most memory, loads most
// code and builds most kernels when it starts.
constexpr bool grows_with_launches(profile::Op op) {
  return op != profile::Op::alloc && op != profile::Op::free && op != profile::Op::call;
}

}  // namespace gpuprof::analyze
