// Names for the procedure linkage table, whose stubs have no symbols. They are machine code: one file a processor.
#pragma once

#include <cstdint>
#include <string>

#include "symbolize/elf/elf_image.h"

namespace gpuprof::symbolize {

// The (mangled) name of the function that the stub at `vaddr` jumps to; empty when there is none.
std::string plt_function(const ElfImage& image, uint64_t vaddr);

}  // namespace gpuprof::symbolize
