// Keeps profiles of earlier commits in a folder, to compare new runs with.
//
// BASELINE/<devices and driver>/<UTC time>-<commit>/run-1.txt, run-2.txt, ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compare/run.h"

namespace gpuprof::cmd {

struct BaselineRuns {
  std::string folder;
  std::string commit;  // from the folder's name, where '_' replaces some characters; empty: unknown
  std::vector<std::string> files;
};

class Baseline {
 public:
  explicit Baseline(std::string folder) : folder_(std::move(folder)) {}

  // Returns the newest runs that have the devices and driver of `like`, but another commit; nullopt if none have.
  [[nodiscard]] Result<std::optional<BaselineRuns>> newest(const compare::RunFacts& like) const;

  // Checks whether keep() can create folders, without creating any. Call it before the runs, because they take long.
  [[nodiscard]] Status can_save() const;

  // Copies the runs' profiles (regular files) and returns the folder of the copies. Keeps either all profiles or none.
  [[nodiscard]] Result<std::string> keep(const compare::RunFacts& like, const std::vector<std::string>& files) const;

 private:
  std::string folder_;
};

}  // namespace gpuprof::cmd
