// Writes folded stacks: frames outermost first, separated by ';', then a space and an integer. Sorted bytewise.
#pragma once

#include <string>
#include <string_view>

#include "analyze/paths/flame_tree.h"
#include "base/text/text_stream.h"
#include "output/weight.h"

namespace gpuprof::output {

// Adds the remainder of each line below 1 us to the next line, so that the lines add up to the total, rounded down.
// Omits a stack whose number becomes 0. Memory grows with the tree, not with the lines. Stops if the stream fails.
void write_folded(const analyze::FlameTree& tree, const WeightChoice& weight, TextStream& out);

// Returns a frame's name as it appears in a line: ':' instead of ';', a space instead of each control character.
std::string folded_name(std::string_view name);

// Returns the output of write_folded() as one string. For small trees only.
std::string folded(const analyze::FlameTree& tree, const WeightChoice& weight);

}  // namespace gpuprof::output
