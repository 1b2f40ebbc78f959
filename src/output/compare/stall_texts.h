// Formats stalls for the outputs of `diff` and `check`.
#pragma once

#include <string>
#include <vector>

#include "base/text/text_stream.h"
#include "compare/comparison.h"
#include "output/json_stream.h"

namespace gpuprof::output {

// Returns lines about the first few reasons whose share of the kernel's samples changed: "long_scoreboard 12.1% ->
// 38.4%", and then "2 more". Returns no lines if no share changed, or if a side has no samples.
std::vector<std::string> stall_changes(const compare::Comparison& runs, const compare::KernelLine& kernel);

// Returns the stall changes as one text for a verdict: "stall shares: ...". Returns "" if a side has no samples.
std::string stall_evidence(const compare::Comparison& runs, const compare::KernelLine& kernel);

// Writes the member "stalls" of a kernel with samples on both sides: its reasons, largest changes first.
void put_stall_shares(const compare::Comparison& runs, const compare::KernelLine& kernel, JsonObject& object,
                      TextStream& stream);

}  // namespace gpuprof::output
