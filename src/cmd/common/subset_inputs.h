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

  // Opens the named profiles as `merge` does. If the user names none, opens standard input or gpuprof.txt (see
  // Input::open()).
  Result<std::vector<analyze::MergeInput>> open();
};

}  // namespace gpuprof::cmd
