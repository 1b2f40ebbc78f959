// Formats the state of a recording.
#pragma once

#include <string>
#include <vector>

#include "record/live/live_view.h"

namespace gpuprof::cmd {

struct TopShape {
  size_t width = 80;
  size_t height = 20;
  bool color = false;
};

// `before` is the state that was shown last, from which rates per second are computed.
std::vector<std::string> top_lines(const record::LiveState& state, const record::LiveState& before,
                                   const TopShape& shape);

std::string top_line(const record::LiveState& state, const record::LiveState& before);

}  // namespace gpuprof::cmd
