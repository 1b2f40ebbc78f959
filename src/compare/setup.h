// What runs were made with, and whether they ended well: the same for `check` as for `diff`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compare/run.h"

namespace gpuprof::compare {

struct KnownDriver {
  std::string name;               // never empty
  const RunFacts* run = nullptr;  // the first that has it
};

// Each driver once, in the order of the runs. A run that does not say has none.
std::vector<KnownDriver> known_drivers(std::span<const RunFacts* const> runs);

// Its program ended, and not well. A process that was attached to and runs on has not failed.
bool has_failed(const RunFacts& run);

}  // namespace gpuprof::compare
