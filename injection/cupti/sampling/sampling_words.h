// What CUPTI's PC sampling says, in words for people.
#pragma once

#include <cstddef>

#include "cupti/api/cupti_abi.h"

namespace gpuprof::injection::cupti {

// A stall reason in the field's word; `length` 0: it is to be left out.
struct ReasonWord {
  const char* text;
  size_t length;
};

// "smsp__pcsamp_warps_issue_stalled_long_scoreboard" is "long_scoreboard". What ends in "_not_issued" is left out: its
// samples are in the reason without that ending, too.
ReasonWord reason_word(const char* name);

// Why there are no samples, and what to do about it, in one line; null: nothing is known of that result.
const char* refusal_text(CUptiResult result);

}  // namespace gpuprof::injection::cupti
