// The samples of a kernel by stall reason, of one run or of all runs of a side.
#pragma once

#include <cstdint>
#include <map>

#include "analyze/stalls/stall_slices.h"

namespace gpuprof::compare {

struct StallSums {
  struct Reason {
    uint64_t samples = 0;
    double part = 0;  // see analyze::StallSpread::part
    double squares = 0;
  };

  uint64_t samples = 0;
  double whole = 0;  // see analyze::StallSpread::whole
  double blocks = 0;
  std::map<uint32_t, Reason> reasons;  // key: index into the stall reasons of the Run or Comparison

  [[nodiscard]] analyze::StallSpread spread(const Reason& reason) const {
    return {.part = reason.part, .whole = whole, .squares = reason.squares, .blocks = blocks};
  }
};

}  // namespace gpuprof::compare
