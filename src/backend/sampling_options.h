// What a recording is to find out about the insides of kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gpuprof::backend {

struct SamplingOptions {
  bool samples = false;      // which instructions run or wait, and for what
  uint32_t period = 0;       // cycles from one sample to the next, a power of two; 0: the vendor's choice
  bool exact = false;        // with `samples`: only single launches of chosen kernels, one at a time, ...
  uint32_t exact_every = 1;  // ... one of so many of each kernel
  std::string counted;       // instead of GPU work: metrics by the vendor's names, separated by ','; empty: none
  // Whether a kernel is chosen, by its name as the target has it (mangled). Null: all kernels are chosen.
  std::function<bool(std::string_view)> chosen;

  [[nodiscard]] bool counts() const { return !counted.empty(); }
};

}  // namespace gpuprof::backend
