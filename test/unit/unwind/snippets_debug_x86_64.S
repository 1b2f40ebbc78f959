// A function that only .debug_frame describes. The loader does not load that section.
        .cfi_sections .debug_frame
        .text
        .p2align 4
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        .globl  snippet_debug_frame
        .hidden snippet_debug_frame
snippet_debug_frame:
        popq    %rbp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .section .note.GNU-stack, "", @progbits
