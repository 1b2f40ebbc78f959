// Functions with all kinds of call frame information; labels mark rule changes. Only unwind_capture is called.
        .text

        .macro PLACE name
        .globl  \name
        .hidden \name
\name:
        .endm

// void unwind_capture(uint64_t registers[3]): stores pc, sp and fp of the caller as they are after the call.
        .globl  unwind_capture
        .hidden unwind_capture
        .type   unwind_capture, @function
unwind_capture:
        .cfi_startproc
        movq    (%rsp), %rax
        movq    %rax, (%rdi)
        leaq    8(%rsp), %rax
        movq    %rax, 8(%rdi)
        movq    %rbp, 16(%rdi)
        ret
        .cfi_endproc
        .size   unwind_capture, . - unwind_capture

// A function with a frame pointer and an epilogue in the middle.
        .p2align 4
        .cfi_startproc
PLACE   snippet_frame_entry
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
PLACE   snippet_frame_pushed
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
PLACE   snippet_frame_body
        subq    $32, %rsp
        testq   %rdi, %rdi
        jz      1f
        .cfi_remember_state
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
PLACE   snippet_frame_left
        ret
        .cfi_restore_state
PLACE   snippet_frame_restored
1:      leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc

// A function without a frame pointer, which uses rbp as a general register.
        .p2align 4
        .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        subq    $1000, %rsp
        .cfi_adjust_cfa_offset 1000
PLACE   snippet_omitted_body
        addq    $1000, %rsp
        .cfi_adjust_cfa_offset -1000
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
PLACE   snippet_omitted_popped
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc

// A function with a realigned stack, as gcc generates it: the CFA is in r10, later in the frame.
        .p2align 4
        .cfi_startproc
        leaq    8(%rsp), %r10
        .cfi_def_cfa %r10, 0
PLACE   snippet_realign_r10
        andq    $-64, %rsp
        pushq   -8(%r10)
        pushq   %rbp
        .cfi_escape 0x10, 6, 2, 0x76, 0         // DW_CFA_expression: rbp at *(rbp + 0)
        movq    %rsp, %rbp
        pushq   %r10
        .cfi_escape 0x0f, 3, 0x76, 0x78, 0x06   // DW_CFA_def_cfa_expression: *(rbp - 8)
PLACE   snippet_realign_body
        popq    %r10
        .cfi_def_cfa %r10, 0
        popq    %rbp
        leaq    -8(%r10), %rsp
        .cfi_def_cfa %rsp, 8
PLACE   snippet_realign_end
        ret
        .cfi_endproc

// The first function of a thread.
        .p2align 4
        .cfi_startproc
        .cfi_undefined %rip
PLACE   snippet_outermost
        xorl    %ebp, %ebp
        call    *%rdi
        hlt
        .cfi_endproc

// The code to which the kernel returns from a signal handler.
        .p2align 4
        .cfi_startproc
        .cfi_signal_frame
        .cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06   // CFA = *(rsp + 160)
        .cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0      // rbp at rsp + 120
        .cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1     // rip at rsp + 168
        nop
PLACE   snippet_restorer
        movq    $15, %rax
        syscall
        .cfi_endproc

// The CFA is a stack pointer saved on the stack plus an offset, which no rule can express.
        .p2align 4
        .cfi_startproc
        .cfi_escape 0x0f, 5, 0x77, 24, 0x06, 0x23, 8
PLACE   snippet_saved_sp
        ret
        .cfi_endproc

        .p2align 4
PLACE   snippet_undescribed
        ret
        ret

// A cold part of a function, in another section.
        .section .text.unlikely, "ax", @progbits
        .cfi_startproc
        .cfi_def_cfa_offset 64
        .cfi_offset %rbp, -16
PLACE   snippet_cold
        hlt
        .cfi_endproc

        .section .note.GNU-stack, "", @progbits
