// Which kernels an address on a GPU can be in, by where their code starts.
#pragma once

#include <cstdint>

namespace gpuprof::backend {

inline constexpr uint64_t kMaxKernelBytes = 4 << 20;  // of code whose size is not known

// `by_start`: a map from the starts of code. Calls `visit(start, value)` for the entries that start at or before the
// address, nearest first, as far back as a kernel can reach it from there, until `visit` returns false.
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
