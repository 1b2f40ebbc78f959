// The sums of a recording, for its END record and for the summary line.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "record/join/context/coverage.h"

namespace gpuprof::record {

// A process whose Python frames are missing, because its library does not know that interpreter.
struct RefusedPython {
  uint32_t pid = 0;  // of the first one; 0: there was none
  std::string version;
  std::string reason;
  bool others = false;  // there were more such processes
};

struct Totals {
  uint64_t launches = 0;
  uint64_t gpu_records = 0;
  uint64_t gpu_ns = 0;
  uint64_t with_stack = 0;
  uint64_t unsampled_records = 0;  // of launches that got no stack by choice
  uint64_t off_records = 0;        // of launches made while recording was off; in none of the above
  uint64_t samples = 0;
  uint64_t samples_with_stack = 0;
  uint64_t off_samples = 0;              // of no known launch, from while recording was off; not in the above
  std::map<std::string, uint64_t> lost;  // by the reason's word
  CoverageCounts coverage;               // of the sources that have ended
  RefusedPython refused_python;          // of these, too

  [[nodiscard]] uint64_t lost_in_all() const;
};

}  // namespace gpuprof::record
