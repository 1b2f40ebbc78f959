// Finding the separate file that holds the symbols and DWARF of a stripped one.
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "symbolize/elf_image.h"

namespace gpuprof::symbolize {

struct DebugFile {
  UniqueFd fd;       // not open: there is none
  std::string path;  // in `root_fd`'s tree
  int root_fd = -1;  // the root in which the path was found (see safe_open.h)
};

struct DebugSearch {
  std::vector<std::string> directories;  // absolute, "/usr/lib/debug" by habit
  int target_root_fd = -1;               // looked at before our own root; -1: none
  bool debuginfod = false;               // ask the servers in DEBUGINFOD_URLS, by libdebuginfod where it is installed
};

// By build id (DIRECTORY/.build-id/ab/cdef.debug), by .gnu_debuglink (beside the file, in .debug/, below DIRECTORY),
// then by debuginfod. What is found is checked: build ids must agree or, where one is missing, the link's CRC must.
DebugFile find_debug_file(const ElfImage& image, const std::string& path, const DebugSearch& search);

// The file that .gnu_debugaltlink of a debug file names (strings and types shared by several debug files).
DebugFile find_alternate_file(const ElfImage& debug_image, const DebugFile& debug_file, const DebugSearch& search);

}  // namespace gpuprof::symbolize
