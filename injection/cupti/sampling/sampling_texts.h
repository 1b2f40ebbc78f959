// Converts names and errors of CUPTI's PC sampling to texts for users.
#pragma once

#include <cstddef>

#include "cupti/api/cupti_abi.h"

namespace gpuprof::injection::cupti {

// Name of a stall reason without the vendor's prefix. If `length` is 0, the caller must ignore the reason.
struct ReasonName {
  const char* text;
  size_t length;
};

// Shortens "smsp__pcsamp_warps_issue_stalled_long_scoreboard" to "long_scoreboard". Ignores names that end in
// "_not_issued": the reason without that suffix includes their samples.
ReasonName reason_name(const char* name);

// Returns one line that explains why samples are missing and what to do. Null: unknown result.
const char* refusal_text(CUptiResult result);

}  // namespace gpuprof::injection::cupti
