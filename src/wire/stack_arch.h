/* Includes the processor-specific part of wire/stack.h. */
#ifndef GPUPROF_WIRE_STACK_ARCH_H
#define GPUPROF_WIRE_STACK_ARCH_H

#include "wire/stack.h"

#if defined(__x86_64__)
#include "wire/stack_x86_64.h"
#elif defined(__aarch64__)
#include "wire/stack_aarch64.h"
#else
#error "this processor needs its own version of wire/stack_x86_64.h"
#endif

/* Returns whether the caller's fp is in memory. */
static inline __attribute__((always_inline)) int gpuprof_rule_saves_fp(GPUPROF_U64 rule) {
  return GPUPROF_UNWIND_RULE_FP(rule) == GPUPROF_UNWIND_FP_AT_CFA ||
         GPUPROF_UNWIND_RULE_FP(rule) == GPUPROF_UNWIND_FP_AT_FP;
}

/* Returns whether the return address is in the link register, not in memory. */
static inline __attribute__((always_inline)) int gpuprof_rule_in_link(GPUPROF_U64 rule) {
  return GPUPROF_HAS_LINK_REGISTER && (GPUPROF_UNWIND_RULE_KIND(rule) & GPUPROF_UNWIND_IN_LINK) != 0;
}

#endif /* GPUPROF_WIRE_STACK_ARCH_H */
