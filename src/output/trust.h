// The trust footer: states in plain words what a recording captured and missed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/rows/aggregate.h"

namespace gpuprof::output {

// Returns " in windows" if --max-overhead limited the recording. Write it after counts that are not scaled: those of
// launches, samples and losses.
std::string in_windows(const analyze::ProfileInfo& info);

// Returns "ring_full 5, late_name 4": each reason for a loss with its count, escaped. Returns "" if nothing was lost.
std::string loss_text(const analyze::ProfileInfo& info);

// Returns what a reader of any output must know before reading its numbers, one sentence per line: the profile is a
// subset, was cut short, lost records, or has skipped lines or contradictions. Returns no lines if none of this
// applies.
std::vector<std::string> gap_lines(const analyze::ProfileInfo& info);

// Returns gap_lines() and the coverage, for outputs that have no trust footer. Files in the formats of other tools
// contain these lines. Pictures show them as one text, separated by "; ".
std::vector<std::string> notice_lines(const analyze::ProfileInfo& info);
std::string notice_text(const analyze::ProfileInfo& info);

enum class TrustLines : uint8_t { all, missing };

// Returns lines without a newline at the end. Returns no lines if the profile has no COVERAGE or if nothing was missed.
// Otherwise, the last line is the coverage. `missing` leaves out the lines, and the coverage, that name nothing
// missing.
std::vector<std::string> trust_lines(const analyze::ProfileInfo& info, TrustLines which = TrustLines::all);

// Returns what the recorded processes noted, such as what a version of a vendor's library is known to do wrong. Each
// text appears once.
std::vector<std::string> note_lines(const analyze::ProfileInfo& info);

// Returns how many CPU stacks are complete and how deep they are. Returns no lines if the profile does not say.
std::vector<std::string> stack_lines(const analyze::ProfileInfo& info);

// Returns "7 of 1,000 launches (0.70%) have a truncated stack", or "" if no stack is truncated.
std::string truncated_text(const analyze::ProfileInfo& info);

// Returns "0.70%", the share of the launches in truncated_text(), or "".
std::string truncated_percent(const analyze::ProfileInfo& info);

// Returns "2.91% of the samples were dropped, too many to say what kernels waited for", or "" if few were dropped.
std::string dropped_samples_text(const analyze::ProfileInfo& info);

// Returns "no samples of GPU code were taken: <why>" if the user asked for samples but the profile has none, else "".
std::string no_samples_text(const analyze::ProfileInfo& info);

// Returns a hint such as "no line information in 12.00% of the samples: compile with -lineinfo". `in_zebins`: number of
// samples without lines in code of Intel's compiler, which has other options.
std::string without_lines_text(uint64_t without_lines, uint64_t samples, uint64_t in_zebins);

}  // namespace gpuprof::output
