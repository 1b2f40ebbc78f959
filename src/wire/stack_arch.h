/* Includes the processor-specific part of wire/stack.h. */
#ifndef GPUPROF_WIRE_STACK_ARCH_H
#define GPUPROF_WIRE_STACK_ARCH_H

#include "wire/stack.h"

#if defined(__x86_64__)
#include "wire/stack_x86_64.h"
#else
#error "this processor needs its own version of wire/stack_x86_64.h"
#endif

#endif /* GPUPROF_WIRE_STACK_ARCH_H */
