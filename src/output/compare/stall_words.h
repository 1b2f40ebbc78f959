// What the outputs of `diff` and `check` say of stalls.
#pragma once

#include <string>
#include <vector>

#include "base/text/text_stream.h"
#include "compare/comparison.h"
#include "output/json_stream.h"

namespace gpuprof::output {

// Of the reasons whose shares of a kernel's samples changed, the first few: "long_scoreboard 12.1% -> 38.4%", and "2
// more". None where none did, or a side has no samples.
std::vector<std::string> stall_changes(const compare::Comparison& runs, const compare::KernelLine& kernel);

// The same as evidence beside a verdict: "stall shares: ...". Empty where a side has no samples.
std::string stall_evidence(const compare::Comparison& runs, const compare::KernelLine& kernel);

// The member "stalls" of a kernel that has samples on both sides: its reasons, those that changed first.
void put_stall_shares(const compare::Comparison& runs, const compare::KernelLine& kernel, JsonObject& object,
                      TextStream& stream);

}  // namespace gpuprof::output
