// Profiles of earlier commits, kept in a folder to compare with.
//
// BASELINE/<devices and driver>/<UTC time>-<commit>/run-1.txt, run-2.txt, ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compare/run.h"

namespace gpuprof::cmd {

struct KeptRuns {
  std::string folder;
  std::string commit;  // as the folder says it, where what no folder can be called is folded; empty: not known
  std::vector<std::string> files;
};

class Baseline {
 public:
  explicit Baseline(std::string folder) : folder_(std::move(folder)) {}

  // Those kept last of the same devices and driver, but for runs of the same commit: nothing changed since. nullopt:
  // there are none.
  [[nodiscard]] Result<std::optional<KeptRuns>> newest(const compare::RunFacts& like) const;

  // Whether folders can be made there; nothing is made. For before the runs, which take long.
  [[nodiscard]] Status may_keep() const;

  // Copies the profiles of runs of `like`, which are regular files; there as a whole, or not at all. Where they are
  // now.
  [[nodiscard]] Result<std::string> keep(const compare::RunFacts& like, const std::vector<std::string>& files) const;

 private:
  std::string folder_;
};

}  // namespace gpuprof::cmd
