// The vdso: an ELF image that the kernel maps into every process. It is not a file.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuprof::symbolize {

// Returns a copy of gpuprof's own vdso, because a target could have overwritten the target's. Empty if the kernel
// provides no vdso.
const std::vector<uint8_t>& own_vdso();

}  // namespace gpuprof::symbolize
