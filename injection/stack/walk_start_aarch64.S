// void gpuprof_walk_native(NativeWalk* walk): calls gpuprof_walk_from(walk, pc, sp, fp) with the registers that its caller
// has after the call.
    .text
    .global gpuprof_walk_native
    .hidden gpuprof_walk_native
    .type gpuprof_walk_native, %function
gpuprof_walk_native:
    .cfi_startproc
    mov x1, x30
    mov x2, sp
    mov x3, x29
    b gpuprof_walk_from
    .cfi_endproc
    .size gpuprof_walk_native, . - gpuprof_walk_native
    .section .note.GNU-stack,"",%progbits
