// Explains stall reasons of GPU samplers: NVIDIA's warp states (CUPTI's names without prefix) and Intel's EU states.
#pragma once

#include <string_view>

namespace gpuprof::analyze {

struct StallReason {
  std::string_view word;
  bool waits = true;         // false: the thread worked or could have worked
  std::string_view meaning;  // one or more complete sentences
  std::string_view cause;    // begins with "Usually"; `cause` and `advice` may be empty
  std::string_view advice;
};

// Returns null for an unknown word. Treats "wait_not_issued" like "wait".
const StallReason* stall_reason(std::string_view word);

}  // namespace gpuprof::analyze
