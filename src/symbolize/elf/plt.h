// Names the stubs of the procedure linkage table, which have no symbols.
#pragma once

#include <cstdint>
#include <string>

#include "symbolize/elf/elf_image.h"

namespace gpuprof::symbolize {

// Returns the mangled name of the function to which the stub at `vaddr` jumps, or an empty string.
std::string plt_function(const ElfImage& image, uint64_t vaddr);

}  // namespace gpuprof::symbolize
