// Writes a recorded timeline as a Perfetto trace: track events as protocol buffers in compressed packets.
// https://perfetto.dev/docs/reference/synthetic-track-event
//
// The tracks are those of the Chrome trace. Events refer to call stacks with files, lines, modules and build ids.
#pragma once

#include <memory>

#include "output/timeline.h"

namespace gpuprof::output {

// `tables` must outlive the trace.
std::unique_ptr<Timeline> perfetto_trace(const profile::Tables& tables, const analyze::StackOptions& stacks,
                                         Timeline::Sink sink);

}  // namespace gpuprof::output
