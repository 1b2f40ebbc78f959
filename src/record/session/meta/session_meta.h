// Writes META records. They describe the recording itself.
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
  std::string counts_only;  // with record -p: why launches are only counted, else empty
};

void add_session_meta(Correlator& correlator, const SessionOptions& options, const SessionFacts& facts,
                      const backend::Backends& backends);

// Lists the backends whose work may have been missed, with the reasons: "opencl (the loader ...)". Empty if all work
// was seen.
std::string unseen_backends(const backend::Backends& backends);

// For --cpu=bpf. Says what is missing in the times off a CPU.
void add_off_cpu_meta(Correlator& correlator, const OffCpuEngine::Counts& counts);
void add_overhead_meta(Correlator& correlator, const SessionOptions& options, const SummaryFacts& facts);

}  // namespace gpuprof::record
