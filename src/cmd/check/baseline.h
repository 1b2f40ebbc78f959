// Stores profiles of earlier commits in a folder, so that new runs can be compared with them.
//
// BASELINE/<devices and driver>/<UTC time>-<commit>/run-1.txt, run-2.txt, ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/check/inputs.h"
#include "compare/run.h"

namespace gpuprof::cmd {

struct BaselineRuns {
  std::string folder;
  // The name from the folder, in which '_' replaces some characters. Empty if the commit is unknown.
  std::string commit;
  std::vector<RunFile> files;
};

class Baseline {
 public:
  explicit Baseline(std::string folder) : folder_(std::move(folder)) {}

  // Returns the newest runs of another commit that have the devices and driver of `like`, or nullopt.
  [[nodiscard]] Result<std::optional<BaselineRuns>> newest(const compare::RunFacts& like) const;

  // Checks that keep() will be able to use or create the folder, without creating one. Call it before the runs, because
  // they take long.
  [[nodiscard]] Status can_save() const;

  // Copies the profiles of the runs, which are regular files that were read, and returns the folder with the copies.
  // Copies all profiles or none.
  [[nodiscard]] Result<std::string> keep(const compare::RunFacts& like, const std::vector<RunFile>& files) const;

 private:
  std::string folder_;
};

}  // namespace gpuprof::cmd
