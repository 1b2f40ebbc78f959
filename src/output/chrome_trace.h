// A recorded timeline as a Chrome trace (JSON), which Perfetto and chrome://tracing open.
//
// Processes have a track a thread with their API calls, waits and allocations, and one for its NVTX ranges. Devices are
// processes of their own with a track a stream, a second one where a stream's work overlaps, and a counter of the
// work that was launched and has not ended. Arrows go from each call to its work.
#pragma once

#include <memory>

#include "output/timeline.h"

namespace gpuprof::output {

// `tables` must outlive the trace.
std::unique_ptr<Timeline> chrome_trace(const profile::Tables& tables, const analyze::StackOptions& stacks,
                                       Timeline::Sink sink);

}  // namespace gpuprof::output
