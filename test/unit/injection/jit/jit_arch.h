// Includes code of this processor.
#pragma once

#if defined(__x86_64__)
#include "jit_x86_64.h"
#elif defined(__aarch64__)
#include "jit_aarch64.h"
#else
#error "this processor needs its own version of jit_x86_64.h"
#endif
