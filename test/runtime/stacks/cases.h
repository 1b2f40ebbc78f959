// The groups of cases of the C target; its command line can select groups.
#pragma once

void frame_cases(void);
void callback_cases(void);
void jump_cases(void);
void signal_cases(void);
void context_cases(void);
void thread_cases(void);
void process_cases(void);
void page_cases(void);
void jit_cases(void);
void assembly_cases(void);

// The functions of assembly.S. Each calls function(argument) with a frame of its own kind.
typedef void Function(void* argument);
void asm_push_pop(Function* function, void* argument);             // pushes callee-saved registers, no frame pointer
void asm_early_out(Function* function, void* argument);            // .cfi_remember_state, .cfi_restore_state
void asm_frame_register(Function* function, void* argument);       // CFA = rbp + 112, an unusual offset
void asm_frame_garbage(Function* function, void* argument);        // rbp saved, then overwritten
void asm_expression_sp(Function* function, void* argument);        // CFA by an expression: *(rsp + 16)
void asm_expression_fp(Function* function, void* argument);        // CFA by an expression: *(rbp - 8)
void asm_without_cfi(Function* function, void* argument);          // frame pointer, no CFI
void asm_on_stack(Function* function, void* argument, void* top);  // calls on another stack, frame pointer
void asm_many_advances(Function* function, void* argument);        // CFI with long advances and offsets of two bytes
void asm_broken(Function* function, void* argument, void* frame_pointer);  // no CFI, and an arbitrary rbp
void asm_trap(void);                                                       // begins with an illegal instruction
// Saves this context's sp at *from and goes on at `to`; a new context begins in `asm_context_begin`.
void asm_switch(void** from, void* to);
void asm_context_begin(void);  // rbx holds the Function*, r12 its argument
