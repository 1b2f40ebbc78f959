// Source lines and inlined functions out of a file's DWARF, by libdw. Compilation units are read as addresses in them
// are asked for.
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
  // Whether `image` has DWARF at all; looks at section headers only.
  static bool present_in(const ElfImage& image);

  // `image` reads from the file `fd`; both must outlive the object. `debug_file` says where that file was found, for
  // the files that it names. Null when there is nothing usable, and beyond the budget, which is kept as well.
  static std::unique_ptr<DwarfLines> open(const ElfImage& image, int fd, const DebugFile& debug_file,
                                          const DebugSearch& search, ReadingBudget& budget);
  ~DwarfLines();

  // The function at `vaddr` and what is inlined there, outermost first. Empty when the DWARF does not cover it.
  std::vector<SourceFrame> find(uint64_t vaddr);

 private:
  struct State;
  explicit DwarfLines(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuprof::symbolize
