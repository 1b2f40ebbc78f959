// Writes stall samples as the folded lines of Intel's iaprof, for tools that read those.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analyze/rows/aggregate.h"
#include "base/result.h"

namespace gpuprof::analyze {

// Counts by line: "process;pid;user;frames;-;kernel;frames;file_[G];symbol_[G];instruction_[g];stall_[g];0xoffset_[g]".
// Unknown fields are "[unknown]". A ';' in a name becomes ':'.
using IaprofLines = std::map<std::string, uint64_t>;

// Adds the samples of `rows` to `lines`. Fails if a sum overflows or the lines exceed 512 MiB; `lines` is then invalid.
Status add_iaprof_lines(const Aggregate& rows, IaprofLines& lines);

}  // namespace gpuprof::analyze
