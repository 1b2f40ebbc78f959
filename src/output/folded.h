// Writes folded stacks: frames outermost first, separated by ';', then a space and an integer. Sorted bytewise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyze/paths/flame_tree.h"
#include "base/text/text_stream.h"
#include "output/weight.h"

namespace gpuprof::output {

// The stacks that an output omits, because they are too short for its unit.
struct TooShort {
  uint64_t stacks = 0;
  uint64_t ns = 0;

  // Returns "" if there are none.
  [[nodiscard]] std::string text() const;
};

// Returns a weight as a number of units, rounded to the nearest. `unit`: 1, or 1000 for times in us.
constexpr uint64_t rounded_weight(uint64_t raw, uint64_t unit) {
  return raw / unit + (raw % unit * 2 >= unit ? 1 : 0);
}

// Rounds each line alone, so that a number does not depend on other stacks. Omits the stacks whose number is 0, and
// returns them. Memory grows with the tree, not with the lines. Stops if the stream fails.
TooShort write_folded(const analyze::FlameTree& tree, const WeightChoice& weight, TextStream& out);

// Returns a frame's name as it appears in a line: ':' instead of ';', a space instead of each control character.
std::string folded_name(std::string_view name);

// Returns the output of write_folded() as one string. For small trees only.
std::string folded(const analyze::FlameTree& tree, const WeightChoice& weight);

}  // namespace gpuprof::output
