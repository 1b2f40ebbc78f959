// Includes what depends on the processor in injection/.
#pragma once

#if defined(__x86_64__)
#include "base/cpu_x86_64.h"
#elif defined(__aarch64__)
#include "base/cpu_aarch64.h"
#else
#error "this processor needs its own version of base/cpu_x86_64.h"
#endif
