// Names the processor architecture for which gpuprof is built. gpuprof reads only files and processes of this
// architecture. A type such as X86_64 is the template parameter of the code that reads call frame information.
#pragma once

#if defined(__x86_64__)
#include "unwind/arch_x86_64.h"
namespace gpuprof::unwind {
using NativeArch = X86_64;
}
#elif defined(__aarch64__)
#include "unwind/arch_aarch64.h"
namespace gpuprof::unwind {
using NativeArch = Aarch64;
}
#else
#error "another architecture needs a file like arch_x86_64.h"
#endif
