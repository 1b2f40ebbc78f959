// Folded stacks: one line a stack, frames root first, ';' between them, a space, an integer. Sorted bytewise.
#pragma once

#include <string>
#include <string_view>

#include "analyze/paths/flame_tree.h"
#include "base/text/text_stream.h"
#include "output/weight.h"

namespace gpuprof::output {

// Times in us carry their remainders from line to line, so that the sum of the lines is the total, rounded down.
// A stack whose number comes to 0 is left out. Memory grows with the tree, not with the lines, which may come to far
// more than any memory holds; where the stream fails, the rest is left out.
void write_folded(const analyze::FlameTree& tree, const WeightChoice& weight, TextStream& out);

// A frame's name as it stands in a line, whatever it holds: ';' becomes ':', control characters become spaces.
std::string folded_name(std::string_view name);

// All of it as one text, for small trees.
std::string folded(const analyze::FlameTree& tree, const WeightChoice& weight);

}  // namespace gpuprof::output
