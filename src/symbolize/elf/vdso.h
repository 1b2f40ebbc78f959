// The vdso: an ELF image that the kernel maps into every process, and that is no file.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuprof::symbolize {

// Ours. A target could have written anything over its own. Empty: the kernel gives none.
const std::vector<uint8_t>& own_vdso();

}  // namespace gpuprof::symbolize
