// The input profiles of `filter` and `split`.
#pragma once

#include <string>
#include <vector>

#include "analyze/merge/merge.h"
#include "base/result.h"
#include "cmd/common/output.h"

namespace CLI {
class App;
}

namespace gpuprof::cmd {

struct SubsetInputs {
  std::vector<std::string> words;
  bool lenient = false;
  std::vector<FileId> files;

  void declare(CLI::App& app);

  // Opens the named profiles, like `merge`. Without names, opens the input that commands with one profile read.
  Result<std::vector<analyze::MergeInput>> open();
};

}  // namespace gpuprof::cmd
