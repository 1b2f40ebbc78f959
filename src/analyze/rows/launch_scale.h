// Scales the sums of a recording with --max-overhead so that they count all launches of each process. The windows alone
// would count too few: while recording is on, the program is slower and makes fewer launches in the same time.
#pragma once

#include <cstdint>
#include <map>

#include "analyze/rows/aggregate.h"

namespace gpuprof::analyze {

class LaunchScale {
 public:
  void add(const profile::Coverage& line);

  // Returns how many launches one counted launch of the process stands for. 1: the profile does not say.
  [[nodiscard]] double of(profile::ProcessId process) const;

  // Scales all rows and sums. Does nothing if a sum would not fit, which happens only in a forged profile.
  void apply(Aggregate& rows) const;

 private:
  struct Counts {
    double represented = 0;
    double weighted = 0;
  };
  std::map<profile::ProcessId, Counts> processes_;
};

}  // namespace gpuprof::analyze
