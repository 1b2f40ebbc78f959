// Names the architecture of this build. Files and processes that it reads have the same architecture. The reader of
// call frame information takes an architecture as a template parameter: a type with the members of X86_64.
#pragma once

#if defined(__x86_64__)
#include "unwind/arch_x86_64.h"
namespace gpuprof::unwind {
using NativeArch = X86_64;
}
#else
#error "another architecture needs a file like arch_x86_64.h"
#endif
