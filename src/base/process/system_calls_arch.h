// Includes the system calls of this processor.
#pragma once

#include <algorithm>
#include <span>

#if defined(__x86_64__)
#include "base/process/system_calls_x86_64.h"
#elif defined(__aarch64__)
#include "base/process/system_calls_aarch64.h"
#else
#error "this processor needs its own version of base/process/system_calls_x86_64.h"
#endif

namespace gpuprof {

inline bool is_one_of(std::span<const long> calls, long number) {
  return std::find(calls.begin(), calls.end(), number) != calls.end();
}

}  // namespace gpuprof
