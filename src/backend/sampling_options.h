// What a recording samples or counts inside kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gpuprof::backend {

struct SamplingOptions {
  bool samples = false;  // sample which instructions run or wait, and why they wait
  // Cycles between two samples, a power of two. 0: the default of the vendor's library.
  uint32_t period = 0;
  // With `samples`: samples only chosen kernels, one launch at a time.
  bool exact = false;
  uint32_t exact_every = 1;  // with `exact`: sample every n-th launch of each kernel
  // The vendor's names of metrics, separated by ','. If not empty, these are counted, and no GPU work is recorded.
  std::string counted;
  bool blocks = false;  // probe the thread blocks of kernels
  // Returns whether to sample or probe the kernel with this mangled name. Null: all kernels.
  std::function<bool(std::string_view)> chosen;

  [[nodiscard]] bool counts() const { return !counted.empty(); }
};

}  // namespace gpuprof::backend
