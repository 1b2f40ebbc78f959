// Writes a flame graph and the profile's tables as one HTML page without external resources. Its
// Content-Security-Policy allows only gpuprof's own scripts and styles, by their hashes.
#pragma once

#include <string>
#include <string_view>

#include "analyze/paths/flame_tree.h"
#include "analyze/rows/summarize.h"
#include "output/picture/svg.h"

namespace gpuprof::output {

// The tables show all lines of the summary, so limit them when making the summary. `note` stands above the tables.
std::string html(const analyze::FlameTree& tree, const analyze::Summary& summary, const SvgOptions& options,
                 std::string_view note = {});

}  // namespace gpuprof::output
