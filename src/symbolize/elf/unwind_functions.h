// Finds functions without a symbol by the unwind tables, which stripped files still have.
#pragma once

#include <cstdint>
#include <optional>

#include "symbolize/elf/elf_image.h"

namespace gpuprof::symbolize {

// Returns the virtual address at which the function around `vaddr` begins, according to .eh_frame_hdr and .eh_frame.
// nullopt: no function, or tables in a form that linkers do not write. Reads about 20 short pieces of the file.
std::optional<uint64_t> function_begin(const ElfImage& image, uint64_t vaddr);

}  // namespace gpuprof::symbolize
