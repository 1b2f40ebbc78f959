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

// Warns, with the reason, if samples or counts were requested but none were taken, and if samples have no source lines.
// `connected`: at least one process was recorded.
void explain_missing_samples(const backend::SamplingOptions& sampling, const Correlator& correlator,
                             const GpuLines::Functions& without_lines, bool connected);

void add_written(const ProfileSink& sink, const MemoryBudget& memory, const Totals& totals, SummaryFacts& facts);

// Gives the profile its name and prints the summary. If both the command and the recorder failed, the command's failure
// decides the exit status.
Result<SessionResult> conclude(OutputFile& output, int wait_status, SummaryFacts facts, Status written);

}  // namespace gpuprof::record
