// What plt.cpp and elf_symbols.cpp need to know about the processor. Each processor architecture has one file that
// implements it.
#pragma once

#include <cstdint>
#include <optional>

#include "symbolize/elf/elf_image.h"

namespace gpuprof::symbolize::arch {

// Returns the address of the GOT slot that the stub at `vaddr` jumps through. The stub is in `section`.
std::optional<uint64_t> slot_of_stub(const ElfImage& image, const ElfSection& section, uint64_t vaddr);

// Returns whether a relocation of this type puts the address of a function into a GOT slot.
bool is_function_relocation(uint64_t type);

// Returns whether the symbol may only mark where code or data begin, so that it names nothing.
bool is_mark(const Elf64_Sym& symbol);

}  // namespace gpuprof::symbolize::arch
