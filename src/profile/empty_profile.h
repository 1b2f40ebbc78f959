// Explains an empty profile of a target that used a GPU, for the end of a recording and for commands that read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gpuprof::profile {

struct EmptyFacts {
  std::string nvtx_range;      // the argument of --nvtx-range
  uint64_t outside_range = 0;  // GPU records whose launch was outside of nvtx_range
  bool only_a_window = false;  // recording was off during a part of the target's life
  uint64_t off_records = 0;    // GPU records while recording was off
};

struct EmptyReason {
  std::string reason;
  std::string hint;
};

// Returns nullopt if recording was on all the time, for all GPU work.
std::optional<EmptyReason> why_empty(const EmptyFacts& facts);

}  // namespace gpuprof::profile
