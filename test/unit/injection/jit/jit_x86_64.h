// Code made at run time, and functions with unusual unwind tables. Include jit_arch.h, not this file.
#pragma once

#include <cstdint>

namespace gpuprof::test {

// The first instruction of the launch probe.
constexpr uint8_t kProbeNop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

// Code with a frame pointer, but without an unwind table, that calls its first argument with the second one:
// push rbp; mov rbp, rsp; [mov rbp, rdx]; mov rax, rdi; mov rdi, rsi; push rbx; push rbx; call rax; pop; pop; pop; ret
constexpr uint8_t kJitPrologue[] = {0x55, 0x48, 0x89, 0xe5};
constexpr uint8_t kJitGarbage[] = {0x48, 0x89, 0xd5};  // the frame pointer becomes the third argument
constexpr uint8_t kJitCall[] = {0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x53, 0x53, 0xff, 0xd0, 0x5b, 0x5b, 0x5d, 0xc3};

}  // namespace gpuprof::test

// The unwind table of this function claims that rbp is the frame pointer. At the call, rbp has the value `fp`.
extern "C" void gpuprof_test_lying_table(void (*call)(void*), void* data, uint64_t fp);
__asm__(R"(
.text
gpuprof_test_lying_table:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset 6, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register 6
  push %rbp
  push %rbp
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rbp
  call *%rax
  pop %rbp
  pop %rbp
  pop %rbp
  .cfi_def_cfa 7, 8
  ret
  .cfi_endproc
)");

// A function without a stack frame, that raises SIGTRAP.
extern "C" void gpuprof_test_trap(int pid, int tid);
__asm__(R"(
.text
gpuprof_test_trap:
  .cfi_startproc
  int3
  ret
  .cfi_endproc
)");
