// Writes a flame graph and the profile's tables as one HTML page without external resources. A Content-Security-Policy
// with hashes allows only gpuprof's scripts and styles.
#pragma once

#include <string>
#include <string_view>

#include "analyze/paths/flame_tree.h"
#include "analyze/rows/summarize.h"
#include "output/picture/svg.h"

namespace gpuprof::output {

// The tables show all lines of the summary, so limit them when making the summary. `note` is shown above the tables.
std::string html(const analyze::FlameTree& tree, const analyze::Summary& summary, const SvgOptions& options,
                 std::string_view note = {});

}  // namespace gpuprof::output
