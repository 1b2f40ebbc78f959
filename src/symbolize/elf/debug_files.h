// Finding the separate file that holds the symbols and DWARF of a stripped one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "symbolize/elf/elf_image.h"
#include "symbolize/reading_budget.h"
#include "symbolize/safe_open.h"

namespace gpuprof::symbolize {

struct DebugFile {
  UniqueFd fd;                  // not open: there is none
  std::string path;             // in its root's tree
  bool in_target_root = false;  // or in our own
};

struct DebugSearch {
  std::vector<std::string> directories;  // absolute, "/usr/lib/debug" by habit
  // The target's root is looked at before our own, and all files are opened with its rights: it chose what is looked
  // for. Nothing: no file is opened.
  std::optional<FileAccess> target = FileAccess{};
  bool debuginfod = false;  // ask the servers in DEBUGINFOD_URLS, by libdebuginfod where it is installed
};

// By build id (DIRECTORY/.build-id/ab/cdef.debug), by .gnu_debuglink (beside the file, in .debug/, below DIRECTORY),
// then by debuginfod. What is found is checked: build ids must agree or, where one is missing, the link's CRC must.
DebugFile find_debug_file(const ElfImage& image, const std::string& path, const DebugSearch& search,
                          ReadingBudget& budget);

// The file that .gnu_debugaltlink of a debug file names (strings and types shared by several debug files).
DebugFile find_alternate_file(const ElfImage& debug_image, const DebugFile& debug_file, const DebugSearch& search);

}  // namespace gpuprof::symbolize
