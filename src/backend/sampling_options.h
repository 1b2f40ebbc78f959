// What a recording samples or counts inside kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gpuprof::backend {

struct SamplingOptions {
  bool samples = false;      // sample which instructions run or wait, and why
  uint32_t period = 0;       // cycles between two samples, a power of two; 0: the vendor's default
  bool exact = false;        // with `samples`: sample only single launches of chosen kernels, one at a time
  uint32_t exact_every = 1;  // with `exact`: sample one in this many launches of each kernel
  std::string counted;       // vendor's names of metrics, separated by ',': count these, and record no GPU work
  // Whether to sample a kernel, by its mangled name. Null: all kernels are chosen.
  std::function<bool(std::string_view)> chosen;

  [[nodiscard]] bool counts() const { return !counted.empty(); }
};

}  // namespace gpuprof::backend
