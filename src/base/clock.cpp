#include "base/clock.h"

#include <fstream>

namespace gpuprof {

// The kernel's file holds lines such as "monotonic 10 0": what this namespace adds, in seconds and ns. In kernels
// without time namespaces the file does not exist.
int64_t time_namespace_offset() {
  std::ifstream offsets("/proc/self/timens_offsets");
  std::string clock;
  int64_t seconds = 0;
  int64_t ns = 0;
  while (offsets >> clock >> seconds >> ns) {
    if (clock == "monotonic") {
      return -(seconds * 1'000'000'000 + ns);
    }
  }
  return 0;
}

}  // namespace gpuprof
