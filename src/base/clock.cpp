#include "base/clock.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace gpuprof {

// The kernel's file holds lines such as "monotonic 10 0": what this namespace adds, in seconds and ns. In kernels
// without time namespaces the file does not exist.
int64_t time_namespace_offset() {
  // The file describes the namespace of later children. It is another one after unshare() without fork() or exec().
  std::error_code error;
  if (std::filesystem::read_symlink("/proc/self/ns/time", error) !=
      std::filesystem::read_symlink("/proc/self/ns/time_for_children", error)) {
    return 0;
  }
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
