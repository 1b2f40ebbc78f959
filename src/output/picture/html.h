// A flame graph in an HTML page with the profile's tables beside it: one file, no network, nothing from elsewhere. Its
// Content-Security-Policy lets only the scripts and styles run that gpuprof wrote, by their hashes.
#pragma once

#include <string>
#include <string_view>

#include "analyze/paths/flame_tree.h"
#include "analyze/rows/summarize.h"
#include "output/picture/svg.h"

namespace gpuprof::output {

// The summary's lines are all put into the tables: limit them where it is made. `note` stands above them.
std::string html(const analyze::FlameTree& tree, const analyze::Summary& summary, const SvgOptions& options,
                 std::string_view note = {});

}  // namespace gpuprof::output
