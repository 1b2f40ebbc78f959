// Stall samples as the folded lines of Intel's iaprof, for who has tools that read those.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analyze/rows/aggregate.h"
#include "base/result.h"

namespace gpuprof::analyze {

// By line without its count: "process;pid;user;frames;-;kernel;frames;file_[G];symbol_[G];instruction_[g];stall_[g];
// 0xoffset_[g]". What is not known is [unknown], a ';' in a name is ':'.
using IaprofLines = std::map<std::string, uint64_t>;

// Adds the samples of `rows`. An error where a sum does not fit, or the lines take too much memory; `lines` is then of
// no use.
Status add_iaprof_lines(const Aggregate& rows, IaprofLines& lines);

}  // namespace gpuprof::analyze
