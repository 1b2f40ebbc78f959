// What depends on x86-64 in injection/ and is not in wire/stack_arch.h. Include base/cpu_arch.h, not this file.
#pragma once

#include <cstdint>

namespace gpuprof::injection {

// Tells the processor that the caller waits for another thread in a loop.
inline void cpu_pause() {
  __builtin_ia32_pause();
}

// Offset of _dl_load_adds in glibc's _rtld_global, from 2.35 on.
constexpr uint64_t kLoaderAddsOffset = 2688;

}  // namespace gpuprof::injection
