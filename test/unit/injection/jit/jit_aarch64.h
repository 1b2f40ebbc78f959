// Code made at run time, and functions with unusual unwind tables. Include jit_arch.h, not this file.
#pragma once

#include <cstdint>

namespace gpuprof::test {

// The first instruction of the launch probe.
constexpr uint8_t kProbeNop[] = {0x1f, 0x20, 0x03, 0xd5};

// Code with a frame pointer, but without an unwind table, that calls its first argument with the second one:
// stp x29, x30, [sp, -32]!; mov x29, sp; [mov x29, x2]; mov x9, x0; mov x0, x1; blr x9; ldp x29, x30, [sp], 32; ret
constexpr uint8_t kJitPrologue[] = {0xfd, 0x7b, 0xbe, 0xa9, 0xfd, 0x03, 0x00, 0x91};
constexpr uint8_t kJitGarbage[] = {0xfd, 0x03, 0x02, 0xaa};  // the frame pointer becomes the third argument
constexpr uint8_t kJitCall[] = {0xe9, 0x03, 0x00, 0xaa, 0xe0, 0x03, 0x01, 0xaa, 0x20, 0x01,
                                0x3f, 0xd6, 0xfd, 0x7b, 0xc2, 0xa8, 0xc0, 0x03, 0x5f, 0xd6};

}  // namespace gpuprof::test

// The unwind table of this function claims that x29 is the frame pointer. At the call, x29 has the value `fp`.
extern "C" void gpuprof_test_lying_table(void (*call)(void*), void* data, uint64_t fp);
__asm__(R"(
.text
gpuprof_test_lying_table:
  .cfi_startproc
  stp x29, x30, [sp, -32]!
  .cfi_def_cfa_offset 32
  .cfi_offset 29, -32
  .cfi_offset 30, -24
  mov x29, sp
  .cfi_def_cfa_register 29
  mov x9, x0
  mov x0, x1
  mov x29, x2
  blr x9
  ldp x29, x30, [sp], 32
  .cfi_def_cfa 31, 0
  .cfi_restore 29
  .cfi_restore 30
  ret
  .cfi_endproc
)");

// A function without a stack frame, that raises SIGTRAP by tgkill(). (After BRK, a handler would return to BRK.)
extern "C" void gpuprof_test_trap(int pid, int tid);
__asm__(R"(
.text
gpuprof_test_trap:
  .cfi_startproc
  mov x2, 5
  mov x8, 131
  svc 0
  ret
  .cfi_endproc
)");
