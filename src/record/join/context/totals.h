// The sums of a recording, for its END record and its summary.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "record/join/context/coverage.h"

namespace gpuprof::record {

// The first process without Python frames, because its injection library does not support its Python interpreter.
struct RefusedPython {
  uint32_t pid = 0;  // 0: all were supported
  std::string version;
  std::string reason;
  bool others = false;  // further processes have the same problem
};

struct Totals {
  uint64_t launches = 0;
  uint64_t gpu_records = 0;
  uint64_t gpu_ns = 0;
  uint64_t with_stack = 0;
  uint64_t unsampled_records = 0;  // of launches left without a stack by --max-overhead
  uint64_t off_records = 0;        // of launches made while recording was off; in no other counter
  uint64_t samples = 0;
  uint64_t samples_with_stack = 0;
  uint64_t off_samples = 0;              // without a known launch, taken while recording was off; in no other counter
  std::map<std::string, uint64_t> lost;  // by LossReason word
  CoverageCounts coverage;               // of sources that have ended
  RefusedPython refused_python;          // of sources that have ended

  [[nodiscard]] uint64_t lost_in_all() const;
};

}  // namespace gpuprof::record
