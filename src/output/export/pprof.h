// Writes a profile for pprof and other readers of its files (Parca, Pyroscope, Speedscope): profile.proto with gzip.
// https://github.com/google/pprof/blob/main/proto/profile.proto
#pragma once

#include "analyze/paths/walk.h"
#include "base/result.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

// Fails if a sum exceeds pprof's signed 64-bit numbers.
Status fits_pprof(const analyze::Walk& walk);

// Writes the sample types gpu_ns, launches, queue_ns (unless its sum is too large), bytes, and samples if the profile
// has any. Memory grows with the distinct frames and labels, not with the samples.
void write_pprof(analyze::Walk& walk, TextStream& out);

}  // namespace gpuprof::output
