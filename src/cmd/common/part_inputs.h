// The profiles that `filter` and `split` take apart.
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

struct PartInputs {
  std::vector<std::string> words;
  bool lenient = false;
  std::vector<FileId> files;  // what has been opened

  void declare(CLI::App& app);

  // Those that were named, as `merge` takes them; without any, what a command that reads one profile reads.
  Result<std::vector<analyze::MergeInput>> open();
};

}  // namespace gpuprof::cmd
