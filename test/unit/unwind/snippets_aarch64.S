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
        mov     x1, sp
        stp     x30, x1, [x0]
        str     x29, [x0, 16]
        ret
        .cfi_endproc
        .size   unwind_capture, . - unwind_capture

// A function with a frame record, as gcc generates it, and an epilogue in the middle.
        .p2align 4
        .cfi_startproc
PLACE   snippet_frame_entry
        stp     x29, x30, [sp, -48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
PLACE   snippet_frame_pushed
        mov     x29, sp
        cbz     x0, 1f
        .cfi_remember_state
        ldp     x29, x30, [sp], 48
        .cfi_restore x30
        .cfi_restore x29
        .cfi_def_cfa_offset 0
PLACE   snippet_frame_left
        ret
        .cfi_restore_state
PLACE   snippet_frame_restored
1:      ldp     x29, x30, [sp], 48
        .cfi_restore x30
        .cfi_restore x29
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc

// A function with a frame record, as clang generates it, that moves the stack by a size known only at run time.
        .p2align 4
        .cfi_startproc
        sub     sp, sp, 64
        .cfi_def_cfa_offset 64
PLACE   snippet_alloca_moved
        stp     x29, x30, [sp, 32]
        add     x29, sp, 32
        .cfi_def_cfa x29, 32
        .cfi_offset x30, -24
        .cfi_offset x29, -32
PLACE   snippet_alloca_body
        sub     sp, sp, x0
        mov     sp, x29
        ldp     x29, x30, [sp], 32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa sp, 0
        ret
        .cfi_endproc

// A function that saves only the return address, signed.
        .p2align 4
        .cfi_startproc
        hint    25      // paciasp
        .cfi_negate_ra_state
PLACE   snippet_signed
        str     x30, [sp, -32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x30, -32
PLACE   snippet_signed_body
        ldr     x30, [sp], 32
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        hint    29      // autiasp
        .cfi_negate_ra_state
        ret
        .cfi_endproc

// A leaf function that uses x29 as a general register.
        .p2align 4
        .cfi_startproc
        str     x29, [sp, -16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
PLACE   snippet_leaf_saves_fp
        ldr     x29, [sp], 16
        .cfi_restore x29
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc

// x29 and x30 are saved apart, which no rule can express.
        .p2align 4
        .cfi_startproc
        .cfi_def_cfa_offset 64
        .cfi_offset x29, -64
        .cfi_offset x30, -8
PLACE   snippet_saved_apart
        ret
        .cfi_endproc

// The first function of a thread.
        .p2align 4
        .cfi_startproc
        .cfi_undefined x30
PLACE   snippet_outermost
        mov     x29, 0
        blr     x0
        hlt     0
        .cfi_endproc

// The code to which the kernel returns from a signal handler, as Linux described it until version 5.7.
        .p2align 4
        .cfi_startproc
        .cfi_signal_frame
        .cfi_def_cfa x29, 0
        .cfi_offset x29, 0
        .cfi_offset x30, 8
        nop
PLACE   snippet_restorer
        mov     x8, 139
        svc     0
        .cfi_endproc

// The CFA is in a register that rules do not know.
        .p2align 4
        .cfi_startproc
        .cfi_def_cfa x9, 0
PLACE   snippet_other_register
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
        .cfi_offset x29, -64
        .cfi_offset x30, -56
PLACE   snippet_cold
        hlt     0
        .cfi_endproc

        .section .note.GNU-stack, "", @progbits
