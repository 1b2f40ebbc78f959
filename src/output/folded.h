// Writes folded stacks: one line per stack with its frames outermost first, separated by ';', then a space and an
// integer. Lines are sorted bytewise.
#pragma once

#include <string>
#include <string_view>

#include "analyze/paths/flame_tree.h"
#include "base/text/text_stream.h"
#include "output/weight.h"

namespace gpuprof::output {

// Rounds times in us so that the sum of the lines is the total, rounded down: each line carries its remainder to the
// next. Leaves out stacks whose number becomes 0. Memory grows with the tree and not with the lines, which can exceed
// any memory. Stops writing if the stream fails.
void write_folded(const analyze::FlameTree& tree, const WeightChoice& weight, TextStream& out);

// Returns a frame's name as it appears in a line: ':' instead of ';', a space instead of each control character.
std::string folded_name(std::string_view name);

// Returns the output of write_folded() as one string. For small trees only.
std::string folded(const analyze::FlameTree& tree, const WeightChoice& weight);

}  // namespace gpuprof::output
