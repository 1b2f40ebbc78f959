// A profile for pprof, and for all that read its files (Parca, Pyroscope, Speedscope): profile.proto, compressed by
// gzip. https://github.com/google/pprof/blob/main/proto/profile.proto
#pragma once

#include "analyze/paths/walk.h"
#include "base/result.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

// That the sums fit pprof's numbers, which have a sign.
Status fits_pprof(const analyze::Walk& walk);

// Sample types gpu_ns, launches, queue_ns and bytes, and samples where there are some; those of queue_ns are left out
// where they come to more than fits. Memory grows with the distinct frames and labels, not with the samples.
void write_pprof(analyze::Walk& walk, TextStream& out);

}  // namespace gpuprof::output
