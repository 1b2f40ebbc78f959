// Names the processor architecture for which gpuprof is built. gpuprof reads only files and processes of the same
// architecture. The code that reads call frame information has it as a template parameter: a type like X86_64.
#pragma once

#if defined(__x86_64__)
#include "unwind/arch_x86_64.h"
namespace gpuprof::unwind {
using NativeArch = X86_64;
}
#else
#error "another architecture needs a file like arch_x86_64.h"
#endif
