/* Stacks and code at return addresses for aarch64 (AAPCS64). sp is sp, fp is x29, and the link register is x30. Include
 * wire/stack_arch.h, not this file. */
#ifndef GPUPROF_WIRE_STACK_AARCH64_H
#define GPUPROF_WIRE_STACK_AARCH64_H

/* A call leaves the return address in x30. A rule says where it is now:
 *   GPUPROF_UNWIND_IN_LINK       in x30
 *   GPUPROF_UNWIND_FP_AT_CFA     in the word above the saved x29, because functions save x29 and x30 as a pair
 *   GPUPROF_UNWIND_FP_NOT_SAVED  at CFA + offset
 */
#define GPUPROF_HAS_LINK_REGISTER 1

/* Returns the stack address of the return address. */
static inline __attribute__((always_inline)) GPUPROF_U64 gpuprof_return_slot(GPUPROF_U64 rule, GPUPROF_U64 cfa) {
  return cfa + (GPUPROF_U64)GPUPROF_UNWIND_RULE_FP_OFFSET(rule) +
         (GPUPROF_UNWIND_RULE_FP(rule) == GPUPROF_UNWIND_FP_AT_CFA ? 8 : 0);
}

/* A saved return address may be signed (pointer authentication). Code of user space is below 2^48, unless a program
 * asks for higher mappings. The signature is in the bits above, because Linux for these processors uses 48 address bits
 * or more. */
#define GPUPROF_CODE_ADDRESS(stored) ((stored) & ((1ull << 48) - 1))

/* The rule at the first instruction of a function. Also that of a leaf function without a stack frame. */
#define GPUPROF_RULE_AT_ENTRY \
  GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SP | GPUPROF_UNWIND_IN_LINK, GPUPROF_UNWIND_FP_SAME, 0, 0)

/* The rule after the prologue of a function with a frame pointer: fp points to the saved x29 and x30. These may be
 * anywhere in the frame, so the CFA of this rule is only the lowest possible one, and the caller's sp is not known. */
#define GPUPROF_FP_GIVES_SP 0
#define GPUPROF_CFA_OF_FRAME_POINTER 16
#define GPUPROF_RULE_OF_FRAME_POINTER                                                            \
  GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_FP, GPUPROF_UNWIND_FP_AT_CFA, GPUPROF_CFA_OF_FRAME_POINTER, \
                      -GPUPROF_CFA_OF_FRAME_POINTER)

/* For GPUPROF_UNWIND_PLT, which does not occur: linkers do not describe PLTs, and PLT entries do not change sp. */
#define GPUPROF_PLT_CFA(sp, pc) ((void)(pc), (sp))

/* Offsets of registers in the kernel's signal frame (struct rt_sigframe), relative to sp in the frame of the vdso's
 * __kernel_rt_sigreturn. The context that a signal handler gets begins after the siginfo. */
#define GPUPROF_SIGNAL_CONTEXT 128
#define GPUPROF_SIGNAL_FP 544
#define GPUPROF_SIGNAL_LINK 552
#define GPUPROF_SIGNAL_SP 560
#define GPUPROF_SIGNAL_PC 568

/* Patterns of the code around an address, for frames that have no rule. */

#define GPUPROF_CODE_BEFORE 4 /* bytes of a call instruction */

static inline __attribute__((always_inline)) GPUPROF_U32 gpuprof_instruction(const GPUPROF_U8* code) {
  return (GPUPROF_U32)code[0] | (GPUPROF_U32)code[1] << 8 | (GPUPROF_U32)code[2] << 16 | (GPUPROF_U32)code[3] << 24;
}

/* Returns whether the 4 bytes before a return address are a call instruction: BL, BLR, or BLR with authentication. */
static inline __attribute__((always_inline)) int gpuprof_ends_with_call(const GPUPROF_U8* code) {
  GPUPROF_U32 instruction = gpuprof_instruction(code);
  return instruction >> 26 == 0x25 || (instruction & 0xfffffc1fu) == 0xd63f0000u ||
         (instruction & 0xfefff800u) == 0xd63f0800u;
}

#define GPUPROF_SIGNAL_RETURN_BYTES 8

/* Returns whether this is the code that a signal handler returns to: mov x8, #139; svc #0. */
static inline __attribute__((always_inline)) int gpuprof_is_signal_return(const GPUPROF_U8* code) {
  return gpuprof_instruction(code) == 0xd2801168u && gpuprof_instruction(code + 4) == 0xd4000001u;
}

#endif /* GPUPROF_WIRE_STACK_AARCH64_H */
