// Formats the texts that all outputs of `check` share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compare/judge/judge.h"
#include "output/text.h"

namespace gpuprof::output {

const char* outcome_word(compare::Outcome outcome);  // returns, for example, "regression"
const char* verdict_name(compare::Verdict verdict);  // returns, for example, "too_small"

// Returns a text such as "REGRESSION: 2 kernels are slower, the total is 3.1% slower".
std::string headline(const compare::Judgement& judgement);

// Returns a text such as "5 old and 5 new runs on NVIDIA H200".
std::string what_was_compared(const compare::Comparison& runs, const compare::Judgement& judgement);

// Returns "total" or a kernel's name as in the profile.
std::string finding_name(const compare::Comparison& runs, const compare::Finding& finding);

// Like finding_name(), but shortens a kernel's name to at most `width` characters.
std::string short_finding_name(const compare::Comparison& runs, const compare::Finding& finding, size_t width);

// Return the frames of a path finding, outermost first.
std::vector<std::string_view> finding_path(const compare::Comparison& runs, const compare::Finding& finding);
std::vector<Caller> finding_callers(const compare::Comparison& runs, const compare::Finding& finding);

std::vector<Caller> callers_of(const compare::Comparison& runs, std::span<const uint32_t> functions);

// Returns "+10.2% (8.1% to 12.3%)".
std::string change_text(const compare::Finding& finding);

// Returns "1.20 ms -> 1.32 ms a run; launches +0.0%, each +10.2%".
std::string cost_text(const compare::Finding& finding);

// Returns "stall shares: ...", the stalls of both sides, for a kernel that is slower, even if the slowdown is waived.
// Returns "" for any other finding, and if a side has no samples.
std::string stall_text(const compare::Comparison& runs, const compare::Finding& finding);

// Returns lines, without newlines, about: the noise, the smallest detectable effect, the common factor, and notes.
std::vector<std::string> basis_lines(const compare::Judgement& judgement);

// Returns advice on the outcome, one line each.
std::vector<std::string> advice_lines(const compare::Judgement& judgement);

std::string mean_duration_text(double ns);

}  // namespace gpuprof::output
