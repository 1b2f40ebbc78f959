/* Functions that no compiler generates. */
        .text

        .globl  asm_push_pop
        .type   asm_push_pop, @function
asm_push_pop:
        .cfi_startproc
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        push    %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r12, 0
        sub     $40, %rsp
        .cfi_adjust_cfa_offset 40
        mov     %rdi, %rax
        mov     %rsi, %rdi
        call    *%rax
        add     $40, %rsp
        .cfi_adjust_cfa_offset -40
        pop     %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r12
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   asm_push_pop, .-asm_push_pop

        .globl  asm_early_out
        .type   asm_early_out, @function
asm_early_out:
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        sub     $64, %rsp
        .cfi_def_cfa_offset 80
        .cfi_remember_state
        test    %rdi, %rdi
        jnz     1f
        add     $64, %rsp
        .cfi_def_cfa_offset 16
        pop     %rbp
        .cfi_def_cfa_offset 8
        .cfi_restore %rbp
        ret
1:
        .cfi_restore_state
        xor     %ebp, %ebp
        mov     %rdi, %rax
        mov     %rsi, %rdi
        call    *%rax
        add     $64, %rsp
        .cfi_def_cfa_offset 16
        pop     %rbp
        .cfi_def_cfa_offset 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   asm_early_out, .-asm_early_out

        .globl  asm_frame_register
        .type   asm_frame_register, @function
asm_frame_register:
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        sub     $128, %rsp
        .cfi_adjust_cfa_offset 128
        lea     32(%rsp), %rbp
        .cfi_def_cfa %rbp, 112
        mov     %rsi, %rax
        lea     -4096(%rsp), %rsp
        xchg    %rax, %rdi
        call    *%rax
        lea     96(%rbp), %rsp
        .cfi_def_cfa %rsp, 16
        pop     %rbp
        .cfi_def_cfa_offset 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   asm_frame_register, .-asm_frame_register

        .globl  asm_frame_garbage
        .type   asm_frame_garbage, @function
asm_frame_garbage:
        .cfi_startproc
        sub     $56, %rsp
        .cfi_def_cfa_offset 64
        mov     %rbp, 24(%rsp)
        .cfi_offset %rbp, -40
        movabs  $0x6761726261676521, %rbp
        mov     %rdi, %rax
        mov     %rsi, %rdi
        call    *%rax
        mov     24(%rsp), %rbp
        .cfi_restore %rbp
        add     $56, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   asm_frame_garbage, .-asm_frame_garbage

        .globl  asm_expression_sp
        .type   asm_expression_sp, @function
asm_expression_sp:
        .cfi_startproc
        lea     8(%rsp), %rax
        and     $-64, %rsp
        sub     $64, %rsp
        mov     %rax, 16(%rsp)
        /* DW_CFA_def_cfa_expression: DW_OP_breg7 16, DW_OP_deref */
        .cfi_escape 0x0f, 3, 0x77, 16, 0x06
        mov     %rdi, %rax
        mov     %rsi, %rdi
        call    *%rax
        mov     16(%rsp), %rsp
        .cfi_def_cfa %rsp, 0
        lea     -8(%rsp), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   asm_expression_sp, .-asm_expression_sp

        .globl  asm_expression_fp
        .type   asm_expression_fp, @function
asm_expression_fp:
        .cfi_startproc
        lea     8(%rsp), %r10
        .cfi_def_cfa %r10, 0
        and     $-64, %rsp
        push    -8(%r10)
        push    %rbp
        mov     %rsp, %rbp
        /* rbp: DW_CFA_expression DW_OP_breg6 0 */
        .cfi_escape 0x10, 6, 2, 0x76, 0
        push    %r10
        /* DW_CFA_def_cfa_expression: DW_OP_breg6 -8, DW_OP_deref */
        .cfi_escape 0x0f, 3, 0x76, 0x78, 0x06
        sub     $104, %rsp
        mov     %rdi, %rax
        mov     %rsi, %rdi
        call    *%rax
        mov     -8(%rbp), %r10
        .cfi_def_cfa %r10, 0
        leave
        .cfi_restore %rbp
        lea     -8(%r10), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   asm_expression_fp, .-asm_expression_fp

        .globl  asm_without_cfi
        .type   asm_without_cfi, @function
asm_without_cfi:
        push    %rbp
        mov     %rsp, %rbp
        sub     $80, %rsp
        mov     %rdi, %rax
        mov     %rsi, %rdi
        call    *%rax
        leave
        ret
        .size   asm_without_cfi, .-asm_without_cfi

        /* Does not describe its frame; rbp is the caller's third argument. */
        .globl  asm_broken
        .type   asm_broken, @function
asm_broken:
        push    %rbp
        sub     $16, %rsp
        mov     %rdx, %rbp
        mov     %rdi, %rax
        mov     %rsi, %rdi
        call    *%rax
        add     $16, %rsp
        pop     %rbp
        ret
        .size   asm_broken, .-asm_broken

        /* The test traps at its first instruction. A function with another frame ends right before it. */
        .type   asm_before_trap, @function
asm_before_trap:
        .cfi_startproc
        sub     $1000, %rsp
        .cfi_def_cfa_offset 1008
        ud2
        .cfi_endproc
        .size   asm_before_trap, .-asm_before_trap
        .globl  asm_trap
        .type   asm_trap, @function
asm_trap:
        .cfi_startproc
        ud2
        ret
        .cfi_endproc
        .size   asm_trap, .-asm_trap

        .globl  asm_on_stack
        .type   asm_on_stack, @function
asm_on_stack:
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        mov     %rdx, %rsp
        and     $-16, %rsp
        mov     %rdi, %rax
        mov     %rsi, %rdi
        call    *%rax
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   asm_on_stack, .-asm_on_stack

        .globl  asm_many_advances
        .type   asm_many_advances, @function
asm_many_advances:
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        .skip   100, 0x90
        sub     $4096, %rsp
        .cfi_def_cfa_offset 4112
        .skip   1000, 0x90
        push    %rdi
        .cfi_adjust_cfa_offset 8
        push    %rsi
        .cfi_adjust_cfa_offset 8
        .skip   70000, 0x90
        xor     %ebp, %ebp
        mov     %rdi, %rax
        mov     %rsi, %rdi
        call    *%rax
        .skip   70000, 0x90
        add     $16, %rsp
        .cfi_adjust_cfa_offset -16
        add     $4096, %rsp
        .cfi_def_cfa_offset 16
        pop     %rbp
        .cfi_def_cfa_offset 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   asm_many_advances, .-asm_many_advances

        .globl  asm_switch
        .type   asm_switch, @function
asm_switch:
        .cfi_startproc
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        push    %rbx
        .cfi_adjust_cfa_offset 8
        push    %r12
        .cfi_adjust_cfa_offset 8
        push    %r13
        .cfi_adjust_cfa_offset 8
        push    %r14
        .cfi_adjust_cfa_offset 8
        push    %r15
        .cfi_adjust_cfa_offset 8
        mov     %rsp, (%rdi)
        mov     %rsi, %rsp
        pop     %r15
        .cfi_adjust_cfa_offset -8
        pop     %r14
        .cfi_adjust_cfa_offset -8
        pop     %r13
        .cfi_adjust_cfa_offset -8
        pop     %r12
        .cfi_adjust_cfa_offset -8
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        pop     %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   asm_switch, .-asm_switch

        /* The outermost frame of a context, marked as such. */
        .globl  asm_context_begin
        .type   asm_context_begin, @function
asm_context_begin:
        .cfi_startproc
        .cfi_undefined %rip
        mov     %r12, %rdi
        call    *%rbx
        ud2
        .cfi_endproc
        .size   asm_context_begin, .-asm_context_begin

        .section .note.GNU-stack, "", @progbits
