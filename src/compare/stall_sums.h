// The samples of a kernel by what they waited for, of one run or of all runs of a side.
#pragma once

#include <cstdint>
#include <map>

#include "analyze/stalls/stall_slices.h"

namespace gpuprof::compare {

struct StallSums {
  struct Reason {
    uint64_t samples = 0;
    double part = 0;  // the two of analyze::StallSpread that are not of the kernel as a whole
    double squares = 0;
  };

  uint64_t samples = 0;
  double whole = 0;  // as in StallSpread
  double blocks = 0;
  std::map<uint32_t, Reason> reasons;  // by the place in the list of reasons of a run, or of a comparison

  [[nodiscard]] analyze::StallSpread spread(const Reason& reason) const {
    return {.part = reason.part, .whole = whole, .squares = reason.squares, .blocks = blocks};
  }
};

}  // namespace gpuprof::compare
