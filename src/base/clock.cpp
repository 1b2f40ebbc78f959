#include "base/clock.h"

#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/files/file.h"

namespace gpuprof {

// The kernel's file has lines such as "monotonic 10 0": the seconds and ns that the time namespace adds. A kernel
// without time namespaces has no such file.
int64_t time_namespace_offset() {
  // The file describes the time namespace of future children. After unshare() without fork() or exec(), this process
  // is in another one.
  std::error_code error;
  if (std::filesystem::read_symlink("/proc/self/ns/time", error) !=
      std::filesystem::read_symlink("/proc/self/ns/time_for_children", error)) {
    return 0;
  }
  std::istringstream offsets(read_text("/proc/self/timens_offsets", 4096));
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
