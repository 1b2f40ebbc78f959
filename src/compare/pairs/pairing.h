// Pairs lines that only old runs have with lines that only new runs have. Internal to comparison.cpp. Profiles have no
// grid and block sizes, so kernels are compared by callers, launch counts and times.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gpuprof::compare {

// A caller of a line, and its launches per run.
struct Parent {
  uint32_t id = 0;
  double count = 0;
};

struct Candidate {
  uint32_t line = 0;
  double count = 0;
  double mean_ns = 0;           // mean time per launch; 0 if nothing was timed
  std::vector<Parent> parents;  // sorted by id, unique
  bool placed = true;           // true: CPU stacks show the callers, and other programs do not have the same callers
  // True: code that both sides have makes most of the launches. Otherwise only a similar `name` makes a pair plausible.
  bool same_code = true;
  std::string name;
};

// Pairs old and new candidates of one group, in which any candidate may match any other. If both sides have equally
// many candidates, pairs them in the order of their mean times, which is the optimal assignment. Otherwise pairs each
// candidate with the most similar one, unless another one is nearly as similar. Leaves out implausible pairs. Takes O(n
// log n).
std::vector<std::pair<uint32_t, uint32_t>> pair_up(std::vector<const Candidate*> old_ones,
                                                   std::vector<const Candidate*> new_ones);

}  // namespace gpuprof::compare
