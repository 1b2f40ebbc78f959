// What depends on aarch64 in injection/ and is not in wire/stack_arch.h. Include base/cpu_arch.h, not this file.
#pragma once

#include <cstdint>

namespace gpuprof::injection {

// Tells the processor that the caller waits for another thread in a loop. YIELD does nothing on processors without
// simultaneous multithreading. ISB takes some tens of cycles.
inline void cpu_pause() {
  __asm__ volatile("isb" ::: "memory");
}

// Offset of _dl_load_adds in glibc's _rtld_global, from 2.35 on. glibc's locks take more bytes than on x86-64.
constexpr uint64_t kLoaderAddsOffset = 2840;

}  // namespace gpuprof::injection
