#include "record/session/conclusion.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/text/numbers.h"
#include "profile/loss.h"

namespace gpuprof::record {
namespace {

// Gives the profile its name. Sets `facts.file` to the path at which the profile really is, even after a failure.
Status finish_name(OutputFile& output, SummaryFacts& facts) {
  const auto place = output.finish();
  facts.file = place ? *place : output.place().value_or(output.name());
  return place ? Status() : Status(place.error());
}

std::optional<Error> failure_of(const SummaryFacts& facts, Status written, Status named) {
  std::optional<Error> failure;
  if (!written) {
    failure = unwritten(facts, std::move(written).error());
  }
  if (!named && failure) {
    failure->hint = named.error().hint;
  } else if (!named) {
    failure = std::move(named).error();
  }
  return failure;
}

}  // namespace

void explain_missing_samples(const backend::SamplingOptions& sampling, const Correlator& correlator,
                             const GpuLines::Functions& without_lines, bool connected) {
  if (sampling.samples && correlator.totals().samples == 0 && connected) {
    log::warn("no samples were taken inside kernels",
              "gpuprof samples CUDA programs on GPUs whose counters this user may read, and Intel GPUs by Level Zero's "
              "metrics or, with --backend drm, by the xe driver; gpuprof doctor shows what this machine supports");
  }
  if (sampling.counts() && correlator.counted() == 0 && connected) {
    log::warn("nothing was counted at instructions",
              "gpuprof counts instructions only in CUDA programs, on GPUs whose counters this user may read (see "
              "gpuprof doctor)");
  }
  if (without_lines.in_cubins > 0) {
    log::info(counted_text(without_lines.in_cubins, "sampled kernel") +
              " without source lines: nvcc adds them with -lineinfo, at no cost at run time");
  }
  if (without_lines.in_zebins > 0) {
    log::info(counted_text(without_lines.in_zebins, "sampled kernel") +
              " without source lines: icpx adds them with -gline-tables-only; for kernels that "
              "the program builds itself, use the build option -g");
  }
}

void add_written(const ProfileSink& sink, const MemoryBudget& memory, const Totals& totals, SummaryFacts& facts) {
  facts.totals = totals;
  if (memory.left_out() != 0) {
    facts.totals.lost[std::string(profile::word(profile::LossReason::memory_limit))] = memory.left_out();
  }
  facts.totals.with_stack -= std::min(facts.totals.with_stack, sink.without_frames());
  facts.totals.samples_with_stack -= std::min(facts.totals.samples_with_stack, sink.samples_without_frames());
  facts.totals.coverage[profile::CoverageCount::without_stack] += facts.counts_only ? 0 : sink.without_frames();
  facts.stacks = sink.stacks();
  facts.left_out = sink.left_out();
  facts.file_bytes = sink.bytes_written();
}

Result<SessionResult> conclude(OutputFile& output, int wait_status, SummaryFacts facts, Status written) {
  Status named = finish_name(output, facts);
  const profile::WorkCoverage covered = covered_work(facts);
  const SessionResult result{wait_status, covered,
                             output.is_regular() && (covered.any() || facts.counted > 0) ? facts.file : ""};
  auto failure = failure_of(facts, std::move(written), std::move(named));
  if (failure && result.wait_status == 0) {
    return std::move(*failure);
  }
  if (failure) {
    log::error(*failure);
    return result;
  }
  print_summary(facts);
  return result;
}

}  // namespace gpuprof::record
