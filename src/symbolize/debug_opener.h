// Opens debug files for the files of a process: in its root directory and gpuprof's, with the process's rights.
#pragma once

#include <optional>
#include <string>

#include "base/files/safe_open.h"
#include "symbolize/elf/debug_files.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::symbolize {

class DebugOpener final : public DebugFileOpener {
 public:
  // nullopt: no file may be opened. `debuginfod`: ask the servers in DEBUGINFOD_URLS, if libdebuginfod is installed.
  DebugOpener(std::optional<FileAccess> target, bool debuginfod, ReadingBudget& budget)
      : target_(std::move(target)), debuginfod_(debuginfod), budget_(budget) {}

  DebugFile open(const std::string& path, bool in_target_root) override;
  DebugFile download(const std::string& build_id) override;

 private:
  std::optional<FileAccess> target_;
  bool debuginfod_;
  ReadingBudget& budget_;
};

}  // namespace gpuprof::symbolize
