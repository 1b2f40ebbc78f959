// A function that only .debug_frame describes. The loader does not load that section.
        .cfi_sections .debug_frame
        .text
        .p2align 4
        .cfi_startproc
        stp     x29, x30, [sp, -16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        .globl  snippet_debug_frame
        .hidden snippet_debug_frame
snippet_debug_frame:
        ldp     x29, x30, [sp], 16
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .section .note.GNU-stack, "", @progbits
