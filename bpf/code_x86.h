/*
 * What code of x86-64 looks like, for frames without a rule. Another processor is another file like this.
 */
#ifndef GPUPROF_CODE_X86_H
#define GPUPROF_CODE_X86_H

#if !defined(__TARGET_ARCH_x86)
#error "another processor needs a file like code_x86.h"
#endif

#define CODE_BEFORE 8 /* bytes of the longest call, rounded up */

/* Whether the bytes before a return address are a call: one with a displacement, or through a register or memory. */
static __always_inline int ends_with_call(const __u8* code) {
  return code[3] == 0xe8 || (code[6] == 0xff && (code[7] >> 3 & 7) == 2) ||
         (code[5] == 0xff && (code[6] >> 3 & 7) == 2) || (code[4] == 0xff && (code[5] >> 3 & 7) == 2) ||
         (code[2] == 0xff && (code[3] >> 3 & 7) == 2) || (code[1] == 0xff && (code[2] >> 3 & 7) == 2);
}

/* What a signal handler returns to: mov $15, %rax (or %eax); syscall. */
static __always_inline int is_signal_return(const __u8* code) {
  if (code[0] == 0x48 && code[1] == 0xc7 && code[2] == 0xc0) {
    return code[3] == 0x0f && !code[4] && !code[5] && !code[6] && code[7] == 0x0f && code[8] == 0x05;
  }
  return code[0] == 0xb8 && code[1] == 0x0f && !code[2] && !code[3] && !code[4] && code[5] == 0x0f && code[6] == 0x05;
}

#endif
