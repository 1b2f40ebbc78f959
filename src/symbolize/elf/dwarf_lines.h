// Reads source lines and inlined functions from a file's DWARF with libdw, each compilation unit when needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "symbolize/elf/debug_files.h"
#include "symbolize/elf/elf_image.h"
#include "symbolize/source_frame.h"

namespace gpuprof::symbolize {

class DwarfLines {
 public:
  // Whether `image` has DWARF. Reads only section headers.
  static bool present_in(const ElfImage& image);

  // `image`, the file or memory behind it, and `budget` must outlive the object. `debug_file` says where the file is,
  // to find other files that its DWARF names. Null: the DWARF is unusable or exceeds `budget`.
  static std::unique_ptr<DwarfLines> open(const ElfImage& image, const DebugFile& debug_file, const DebugSearch& search,
                                          ReadingBudget& budget);
  ~DwarfLines();

  // Returns the function at `vaddr` and the functions inlined there, outermost first. Empty: not in the DWARF.
  std::vector<SourceFrame> find(uint64_t vaddr);

 private:
  struct State;
  explicit DwarfLines(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuprof::symbolize
