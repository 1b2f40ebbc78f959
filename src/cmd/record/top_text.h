// The state of a recording as lines of text.
#pragma once

#include <string>
#include <vector>

#include "record/live/live_view.h"

namespace gpuprof::cmd {

struct TopShape {
  size_t width = 80;
  size_t height = 20;  // lines at most
  bool color = false;
};

// `before`: the state shown before, for what is told per second.
std::vector<std::string> top_lines(const record::LiveState& state, const record::LiveState& before,
                                   const TopShape& shape);

// The same in one line, for a log.
std::string top_line(const record::LiveState& state, const record::LiveState& before);

}  // namespace gpuprof::cmd
