// A library with 18 MiB of .eh_frame, as much as libtorch_cpu has: many copies of functions as compilers describe them.
        .text

        .macro SAVE register, offset
        .byte   0x55
        .cfi_adjust_cfa_offset 8
        .cfi_offset \register, \offset
        .endm

// A function without a frame pointer: pushes, a frame of `size`, an early return and a late one.
        .macro FULL size, body
        .cfi_startproc
        SAVE    %r15, -16
        SAVE    %r14, -24
        SAVE    %r13, -32
        SAVE    %r12, -40
        SAVE    %rbp, -48
        SAVE    %rbx, -56
        .skip   7
        .cfi_adjust_cfa_offset \size
        .skip   \body
        .cfi_remember_state
        .skip   7
        .cfi_def_cfa_offset 56
        .skip   1
        .cfi_def_cfa_offset 48
        .skip   1
        .cfi_def_cfa_offset 40
        .skip   2
        .cfi_def_cfa_offset 32
        .skip   2
        .cfi_def_cfa_offset 24
        .skip   2
        .cfi_def_cfa_offset 16
        .skip   2
        .cfi_def_cfa_offset 8
        .skip   9
        .cfi_restore_state
        .skip   \body
        .cfi_endproc
        .p2align 4
        .endm

// A function with a frame pointer.
        .macro FRAME body
        .cfi_startproc
        SAVE    %rbp, -16
        .skip   3
        .cfi_def_cfa_register %rbp
        .skip   9
        .cfi_offset %r12, -24
        .cfi_offset %rbx, -32
        .skip   \body
        .cfi_def_cfa %rsp, 8
        .skip   1
        .cfi_endproc
        .p2align 4
        .endm

        .macro LEAF body
        .cfi_startproc
        .skip   \body
        .cfi_endproc
        .p2align 4
        .endm

        .globl  unwind_tables_begin
unwind_tables_begin:
        .rept   29500
        FULL    104, 230
        FULL    1320, 900
        FULL    24, 61
        FULL    8, 90
        FULL    664, 2100
        FULL    40, 333
        FRAME   120
        FRAME   610
        FRAME   31
        LEAF    5
        LEAF    50
        LEAF    22
        .endr
        .section .note.GNU-stack, "", @progbits
