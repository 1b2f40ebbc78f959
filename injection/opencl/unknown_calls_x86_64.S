// Functions that count a call and jump to a driver's function, whose parameters they do not know. Function i uses
// gpuprof_unknown_calls[i] and gpuprof_unknown_functions[i]. extensions.cpp has both, and knows the size of a function.
    .set count, 64
    .hidden gpuprof_unknown_calls
    .hidden gpuprof_unknown_functions

    .text
    .balign 32
    .global gpuprof_unknown_stubs
    .hidden gpuprof_unknown_stubs
    .type gpuprof_unknown_stubs, %function
gpuprof_unknown_stubs:
    .cfi_startproc
    .set i, 0
    .rept count
    .balign 32
    endbr64
    lock incq gpuprof_unknown_calls + 8 * i(%rip)
    jmp *gpuprof_unknown_functions + 8 * i(%rip)
    .set i, i + 1
    .endr
    .balign 32
    .cfi_endproc
    .size gpuprof_unknown_stubs, . - gpuprof_unknown_stubs
    .section .note.GNU-stack,"",%progbits
