// What the end of a recording comes to: for the user, and as our exit status.
#pragma once

#include "base/files/output_file.h"
#include "base/result.h"
#include "record/join/correlator.h"
#include "record/memory_budget.h"
#include "record/session.h"
#include "record/session/code/gpu_lines.h"
#include "record/summary.h"
#include "record/write/profile_sink.h"

namespace gpuprof::record {

// Says why nothing was sampled or counted, where that was wanted, and why samples have no source lines. `connected`:
// some process was recorded.
void tell_of_samples(const backend::SamplingOptions& sampling, const Correlator& correlator,
                     const GpuLines::Functions& without_lines, bool connected);

// What is known of the profile once it has been written.
void add_written(const ProfileSink& sink, const MemoryBudget& memory, const Totals& totals, SummaryFacts& facts);

// Gives the profile its name and tells the summary. A command's own failure goes before ours.
Result<SessionResult> conclude(OutputFile& output, int wait_status, SummaryFacts facts, Status written,
                               bool budget_exceeded);

}  // namespace gpuprof::record
