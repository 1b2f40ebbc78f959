// What a profile says about its recording as a whole: META records.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "record/ipc/channel.h"
#include "record/join/correlator.h"
#include "record/session.h"
#include "record/summary.h"

namespace gpuprof::record {

struct SessionFacts {
  uint64_t start_ns = 0;
  std::string_view stack_engine;  // "none" without one
  std::string stack_engine_reason;
  std::string counts_only;  // record -p: why launches are only counted
};

// At the start ...
void add_session_meta(Correlator& correlator, const SessionOptions& options, const SessionFacts& facts,
                      const backend::Backends& backends);

// Backends of which programs may have used what cannot be seen, and why: "opencl (the loader ...)"; empty: none.
std::string unseen_backends(const backend::Backends& backends);

// ... and at the end.
void add_overhead_meta(Correlator& correlator, const SessionOptions& options, const SummaryFacts& facts,
                       const Channel::BudgetState& budget);

}  // namespace gpuprof::record
