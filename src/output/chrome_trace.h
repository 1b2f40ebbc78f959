// Writes a recorded timeline as a Chrome trace (JSON), which Perfetto and chrome://tracing open.
//
// Each process has one track per thread for API calls, waits and allocations, and one per thread for NVTX ranges. Each
// device is a process with one track per stream (more if its work overlaps) and a counter of launched, unfinished work.
// An arrow leads from each call to its work.
#pragma once

#include <memory>

#include "output/timeline.h"

namespace gpuprof::output {

// `tables` must outlive the trace.
std::unique_ptr<Timeline> chrome_trace(const profile::Tables& tables, const analyze::StackOptions& stacks,
                                       Timeline::Sink sink);

}  // namespace gpuprof::output
