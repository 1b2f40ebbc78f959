/* Stacks and code at return addresses for x86-64 (System V ABI). sp is rsp and fp is rbp. Include wire/stack_arch.h,
 * not this file. */
#ifndef GPUPROF_WIRE_STACK_X86_64_H
#define GPUPROF_WIRE_STACK_X86_64_H

#define GPUPROF_HAS_LINK_REGISTER 0

/* Offset of the return address from the CFA. The call instruction pushes the return address, so rules do not state
 * the offset. */
#define GPUPROF_RETURN_ADDRESS_OFFSET (-8)

/* Returns the stack address of the return address. */
static inline __attribute__((always_inline)) GPUPROF_U64 gpuprof_return_slot(GPUPROF_U64 rule, GPUPROF_U64 cfa) {
  (void)rule;
  return cfa + (GPUPROF_U64)(GPUPROF_S64)GPUPROF_RETURN_ADDRESS_OFFSET;
}

/* A return address as it is stored is a code address. */
#define GPUPROF_CODE_ADDRESS(stored) (stored)

/* The rule at the first instruction of a function, where only the return address was pushed. */
#define GPUPROF_RULE_AT_ENTRY GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_SAME, 8, 0)

/* The rule after the prologue of a function with a frame pointer. A function that keeps its frame pointer in fp has its
 * CFA at this distance from fp, so its caller's sp is known. */
#define GPUPROF_FP_GIVES_SP 1
#define GPUPROF_CFA_OF_FRAME_POINTER 16
#define GPUPROF_RULE_OF_FRAME_POINTER                                                            \
  GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_FP, GPUPROF_UNWIND_FP_AT_CFA, GPUPROF_CFA_OF_FRAME_POINTER, \
                      -GPUPROF_CFA_OF_FRAME_POINTER)

/* For GPUPROF_UNWIND_PLT. A PLT entry has 16 bytes. It has pushed one word when pc is at or above the threshold. */
#define GPUPROF_PLT_ENTRY 16
#define GPUPROF_PLT_THRESHOLD 11
#define GPUPROF_PLT_CFA(sp, pc) ((sp) + 8 + (((pc) & (GPUPROF_PLT_ENTRY - 1)) >= GPUPROF_PLT_THRESHOLD ? 8 : 0))

/* Offsets of registers in the kernel's signal frame, relative to sp in the frame of the restorer (__restore_rt). There
 * begins the context that a signal handler gets (GPUPROF_SIGNAL_CONTEXT). */
#define GPUPROF_SIGNAL_CONTEXT 0
#define GPUPROF_SIGNAL_FP 120
#define GPUPROF_SIGNAL_SP 160
#define GPUPROF_SIGNAL_PC 168
#define GPUPROF_SIGNAL_LINK GPUPROF_SIGNAL_PC /* not used: there is no link register */

/* Patterns of the code around an address, for frames that have no rule. */

#define GPUPROF_CODE_BEFORE 8 /* bytes of the longest call instruction, rounded up */

/* Returns whether the 8 bytes before a return address end with a call instruction: a relative one, or one through a
 * register or memory. */
static inline __attribute__((always_inline)) int gpuprof_ends_with_call(const GPUPROF_U8* code) {
  return code[3] == 0xe8 || (code[6] == 0xff && (code[7] >> 3 & 7) == 2) ||
         (code[5] == 0xff && (code[6] >> 3 & 7) == 2) || (code[4] == 0xff && (code[5] >> 3 & 7) == 2) ||
         (code[2] == 0xff && (code[3] >> 3 & 7) == 2) || (code[1] == 0xff && (code[2] >> 3 & 7) == 2);
}

#define GPUPROF_SIGNAL_RETURN_BYTES 9

/* Returns whether this is the code that a signal handler returns to: mov $15, %rax (or %eax); syscall. */
static inline __attribute__((always_inline)) int gpuprof_is_signal_return(const GPUPROF_U8* code) {
  if (code[0] == 0x48 && code[1] == 0xc7 && code[2] == 0xc0) {
    return code[3] == 0x0f && !code[4] && !code[5] && !code[6] && code[7] == 0x0f && code[8] == 0x05;
  }
  return code[0] == 0xb8 && code[1] == 0x0f && !code[2] && !code[3] && !code[4] && code[5] == 0x0f && code[6] == 0x05;
}

#endif /* GPUPROF_WIRE_STACK_X86_64_H */
