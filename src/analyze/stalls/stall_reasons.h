// What samplers of GPUs call what they found: NVIDIA's warp states (the words of CUPTI without their prefix) and the EU
// states of Intel's drivers.
#pragma once

#include <string_view>

namespace gpuprof::analyze {

struct StallReason {
  std::string_view word;
  bool waits = true;         // false: it worked, or could have
  std::string_view meaning;  // sentences, each with its full stop
  std::string_view cause;    // "Usually ..."; may be empty, as the next
  std::string_view advice;
};

// Null for a word that is not known. "wait_not_issued" is "wait".
const StallReason* stall_reason(std::string_view word);

}  // namespace gpuprof::analyze
