// Writes META records, which describe the recording itself.
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
  std::string_view stack_engine;  // "none" if no engine is used
  std::string stack_engine_reason;
  std::string counts_only;  // record -p: why launches are only counted
};

// Adds the records that are known at the start.
void add_session_meta(Correlator& correlator, const SessionOptions& options, const SessionFacts& facts,
                      const backend::Backends& backends);

// Lists backends whose work may have been missed, and why: "opencl (the loader ...)". Empty if all work was seen.
std::string unseen_backends(const backend::Backends& backends);

// Adds the records that are known at the end.
void add_overhead_meta(Correlator& correlator, const SessionOptions& options, const SummaryFacts& facts,
                       const Channel::BudgetState& budget);

}  // namespace gpuprof::record
