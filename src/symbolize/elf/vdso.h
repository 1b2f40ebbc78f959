// The vdso: an ELF image that the kernel maps into every process. It is not a file.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuprof::symbolize {

// Returns gpuprof's own vdso, because a target could have overwritten its copy. Empty: the kernel provides none.
const std::vector<uint8_t>& own_vdso();

}  // namespace gpuprof::symbolize
