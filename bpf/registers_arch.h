/* Includes the registers of this processor. Included by vmlinux_min.h. */
#ifndef GPUPROF_REGISTERS_ARCH_H
#define GPUPROF_REGISTERS_ARCH_H

#if defined(__x86_64__)
#include "registers_x86_64.h"
#elif defined(__aarch64__)
#include "registers_aarch64.h"
#else
#error "this processor needs its own version of registers_x86_64.h"
#endif

#endif
