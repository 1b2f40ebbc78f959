// Finds the separate file with the symbols and DWARF of a stripped file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files/safe_open.h"
#include "base/unique_fd.h"
#include "symbolize/elf/elf_image.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::symbolize {

struct DebugFile {
  UniqueFd fd;        // closed if no file was found
  bool ours = false;  // as counts_as_ours() says
  std::string path;
  bool in_target_root = false;  // otherwise, `path` is in gpuprof's root directory
};

// Opens the files that ELF files name.
class DebugFileOpener {
 public:
  DebugFileOpener() = default;
  DebugFileOpener(const DebugFileOpener&) = delete;
  DebugFileOpener& operator=(const DebugFileOpener&) = delete;
  virtual ~DebugFileOpener() = default;

  // Opens a file by its absolute path in one of the two root directories.
  virtual DebugFile open(const std::string& path, bool in_target_root) = 0;
  // Asks the debuginfod servers. Takes seconds.
  virtual DebugFile download(const std::string& build_id) = 0;
};

struct DebugSearch {
  std::vector<std::string> directories = {"/usr/lib/debug"};  // absolute paths
  DebugFileOpener* files = nullptr;                           // null: no file may be opened
};

// Searches by build id (DIRECTORY/.build-id/ab/cdef.debug), by .gnu_debuglink (beside the file, in .debug/, below
// DIRECTORY), then with debuginfod. The build ids must match or, if one is missing, the CRC of the link.
DebugFile find_debug_file(const ElfImage& image, const std::string& path, const DebugSearch& search,
                          ReadingBudget& budget);

// Finds the file named by .gnu_debugaltlink of a debug file (strings and types that several debug files share).
DebugFile find_alternate_file(const ElfImage& debug_image, const DebugFile& debug_file, const DebugSearch& search);

}  // namespace gpuprof::symbolize
