/* Stacks of x86-64 (System V ABI). sp and fp are rsp and rbp. Included through wire/stack_arch.h. */
#ifndef GPUPROF_WIRE_STACK_X86_64_H
#define GPUPROF_WIRE_STACK_X86_64_H

/* Where each frame keeps its return address, from its CFA: the call has pushed it. On a processor with a link register
 * the rule of a frame has to say this. */
#define GPUPROF_RETURN_ADDRESS_OFFSET (-8)

/* The rule at the first instruction of a function: nothing but the return address has been pushed. */
#define GPUPROF_RULE_AT_ENTRY GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_SAME, 8, 0)

/* The rule of a function that keeps the chain of frame pointers, behind its prologue. */
#define GPUPROF_CFA_OF_FRAME_POINTER 16
#define GPUPROF_RULE_OF_FRAME_POINTER                                                            \
  GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_FP, GPUPROF_UNWIND_FP_AT_CFA, GPUPROF_CFA_OF_FRAME_POINTER, \
                      -GPUPROF_CFA_OF_FRAME_POINTER)

/* GPUPROF_UNWIND_PLT: an entry has 16 bytes, and pushes once, before the threshold. */
#define GPUPROF_PLT_ENTRY 16
#define GPUPROF_PLT_THRESHOLD 11
#define GPUPROF_PLT_CFA(sp, pc) ((sp) + 8 + (((pc) & (GPUPROF_PLT_ENTRY - 1)) >= GPUPROF_PLT_THRESHOLD ? 8 : 0))

/* Where the kernel's signal frame holds registers, from sp at the frame of the restorer (__restore_rt). */
#define GPUPROF_SIGNAL_FP 120
#define GPUPROF_SIGNAL_SP 160
#define GPUPROF_SIGNAL_PC 168

#endif /* GPUPROF_WIRE_STACK_X86_64_H */
