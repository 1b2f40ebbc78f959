// The sums of a recording, for its END record and its summary.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "profile/records.h"
#include "record/join/context/coverage.h"
#include "wire/wire.h"

namespace gpuprof::record {

// The first process that was recorded without Python frames because its Python interpreter is not supported.
struct RefusedPython {
  uint32_t pid = 0;  // 0: all interpreters were supported
  std::string version;
  std::string reason;
  bool others = false;  // true: more than one process was recorded without Python frames
};

// The numbers of one process from which readers estimate its sums, because --max-overhead recorded windows only.
struct Estimated {
  uint64_t gpu_records = 0;
  uint64_t gpu_ns = 0;
  uint64_t represented = 0;  // CoverageCount::represented and weighted, only of sources that have ended
  uint64_t weighted = 0;
  uint64_t with_stack = 0;  // GPU records
  uint64_t matched = 0;     // CoverageCount::matched, only of sources that have ended
};

// Lost work of one process.
struct ProcessLoss {
  uint64_t lost = 0;
  uint64_t without_record = 0;  // only of sources that have ended
};

struct Totals {
  uint64_t launches = 0;
  uint64_t gpu_records = 0;
  uint64_t gpu_ns = 0;
  uint64_t with_stack = 0;
  // GPU records of launches that were made while recording was off. No other counter includes them.
  uint64_t off_records = 0;
  uint64_t weighted = 0;  // launches with work, with the weights of their windows
  uint64_t samples = 0;
  uint64_t samples_with_stack = 0;
  // Samples that were taken while recording was off and have no known launch. No other counter includes them.
  uint64_t off_samples = 0;
  std::array<uint64_t, GPUPROF_COUNTS> counts{};      // key: gpuprof_count
  std::map<std::string, uint64_t> lost;               // key: a word for a LossReason
  CoverageCounts coverage;                            // only of sources that have ended
  std::map<profile::ProcessId, Estimated> estimated;  // only with --max-overhead
  std::map<profile::ProcessId, ProcessLoss> losses;
  RefusedPython refused_python;  // only of sources that have ended

  [[nodiscard]] uint64_t lost_in_all() const;
};

}  // namespace gpuprof::record
