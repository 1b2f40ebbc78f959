// Functions that count a call and jump to a driver's function, whose parameters they do not know. Function i uses
// gpuprof_unknown_calls[i] and gpuprof_unknown_functions[i]. extensions.cpp has both, and knows the size of a function.
// They change only registers that hold no parameters: x9 to x12 and x16.
    .set count, 64
    .hidden gpuprof_unknown_calls
    .hidden gpuprof_unknown_functions

    .text
    .balign 32
    .type count_and_jump, %function
count_and_jump:
    .cfi_startproc
    adrp x9, gpuprof_unknown_calls
    add x9, x9, :lo12:gpuprof_unknown_calls
    add x9, x9, x12, lsl 3
1:  ldxr x10, [x9]
    add x10, x10, 1
    stxr w11, x10, [x9]
    cbnz w11, 1b
    adrp x16, gpuprof_unknown_functions
    add x16, x16, :lo12:gpuprof_unknown_functions
    ldr x16, [x16, x12, lsl 3]
    br x16
    .cfi_endproc
    .size count_and_jump, . - count_and_jump

    .balign 32
    .global gpuprof_unknown_stubs
    .hidden gpuprof_unknown_stubs
    .type gpuprof_unknown_stubs, %function
gpuprof_unknown_stubs:
    .cfi_startproc
    .set i, 0
    .rept count
    .balign 32
    hint 34  // bti c
    mov w12, i
    b count_and_jump
    .set i, i + 1
    .endr
    .balign 32
    .cfi_endproc
    .size gpuprof_unknown_stubs, . - gpuprof_unknown_stubs
    .section .note.GNU-stack,"",%progbits
