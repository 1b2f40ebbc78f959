// Finds the kernels that can contain an address on a GPU, by the start addresses of their code.
#pragma once

#include <cstdint>

namespace gpuprof::backend {

inline constexpr uint64_t kMaxKernelBytes = 4 << 20;  // assumed if the size of a kernel is unknown

// `by_start` is a map whose keys are start addresses of code. Calls `visit(start, value)` for the entries at or
// before the address, nearest first, as far back as a kernel can reach. Ends when `visit` returns false.
template <typename ByStart, typename Visit>
void for_each_start_before(const ByStart& by_start, uint64_t address, Visit visit) {
  for (auto at = by_start.upper_bound(address); at != by_start.begin();) {
    --at;
    if (address - at->first >= kMaxKernelBytes || !visit(at->first, at->second)) {
      return;
    }
  }
}

}  // namespace gpuprof::backend
