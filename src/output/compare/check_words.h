// What all outputs of `check` say alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compare/judge/judge.h"

namespace gpuprof::output {

const char* outcome_word(compare::Outcome outcome);  // "regression"
const char* verdict_word(compare::Verdict verdict);  // "too_small"

// "REGRESSION: 2 kernels are slower, the total is 3.1% slower"
std::string headline(const compare::Judgement& judgement);

// "5 old and 5 new runs on NVIDIA H200"
std::string what_was_compared(const compare::Comparison& runs, const compare::Judgement& judgement);

// "total", a kernel's name as the profile has it.
std::string finding_name(const compare::Comparison& runs, const compare::Finding& finding);

// The same for people: a kernel's name is short, and has at most `width` characters.
std::string short_finding_name(const compare::Comparison& runs, const compare::Finding& finding, size_t width);

// Root first. Of a path.
std::vector<std::string_view> finding_path(const compare::Comparison& runs, const compare::Finding& finding);

// "+10.2% (8.1% to 12.3%)"
std::string change_text(const compare::Finding& finding);

// "1.20 ms -> 1.32 ms a run; launches +0.0%, mean duration +10.2%"
std::string cost_text(const compare::Finding& finding);

// What a kernel that is slower, or would be without an excuse, waited for on both sides: "stall shares: ...". Empty
// where nothing is known of it, and for all other findings.
std::string stall_text(const compare::Comparison& runs, const compare::Finding& finding);

// Noise, the smallest effect that can be seen, the common factor and the notes: a line each, without an end.
std::vector<std::string> basis_lines(const compare::Judgement& judgement);

// What a user can do about the outcome: a line each.
std::vector<std::string> advice_lines(const compare::Judgement& judgement);

// A mean of ns as people read it.
std::string mean_duration_text(double ns);

}  // namespace gpuprof::output
