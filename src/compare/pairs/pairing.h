// Which of some lines that only the old runs have is which of those that only the new runs have. Internal to
// comparison.cpp. (A profile has no grid and block: what is known of a kernel but for its name is what launches it, how
// often, and how long it takes.)
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace gpuprof::compare {

// What launches a line, and how often in a run of its side.
struct Parent {
  uint32_t id = 0;
  double count = 0;
};

struct Candidate {
  uint32_t line = 0;
  double count = 0;             // a run
  double mean_ns = 0;           // of one launch; 0 where nothing was timed
  std::vector<Parent> parents;  // by id, each once
  bool placed = true;           // the parents say something: there is a CPU stack
};

// Pairs of lines, old and new, one to one. Candidates are those of one group: somebody has found that any of them may
// be any other. Where both sides have the same number of them, they are paired in the order of their means, which is
// the best assignment of numbers on a line; else each with what it is like, unless another one is nearly as like.
// Pairs that are too unlike are left out. n log n in their number.
std::vector<std::pair<uint32_t, uint32_t>> pair_up(std::vector<const Candidate*> old_ones,
                                                   std::vector<const Candidate*> new_ones);

}  // namespace gpuprof::compare
