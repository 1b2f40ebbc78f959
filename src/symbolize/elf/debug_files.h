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
  UniqueFd fd;  // closed if no file was found
  std::string path;
  bool in_target_root = false;  // otherwise, `path` is in gpuprof's root directory
};

struct DebugSearch {
  std::vector<std::string> directories;  // absolute paths, for example "/usr/lib/debug"
  // The target chose the names, so the target's root is searched before gpuprof's own, and all files are opened with
  // the target's rights. nullopt: no file may be opened.
  std::optional<FileAccess> target = FileAccess{};
  bool debuginfod = false;  // also ask the servers in DEBUGINFOD_URLS, if libdebuginfod is installed
};

// Searches by build id (DIRECTORY/.build-id/ab/cdef.debug), by .gnu_debuglink (beside the file, in .debug/, below
// DIRECTORY), then with debuginfod. The build ids must match or, if one is missing, the CRC of the link.
DebugFile find_debug_file(const ElfImage& image, const std::string& path, const DebugSearch& search,
                          ReadingBudget& budget);

// Finds the file named by .gnu_debugaltlink of a debug file (strings and types that several debug files share).
DebugFile find_alternate_file(const ElfImage& debug_image, const DebugFile& debug_file, const DebugSearch& search);

}  // namespace gpuprof::symbolize
