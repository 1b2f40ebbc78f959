// The architecture that this is compiled for, which is that of the files and processes it looks at.
#pragma once

#if defined(__x86_64__)
#include "unwind/arch_x86_64.h"
#else
#error "another architecture needs a file like arch_x86_64.h"
#endif
