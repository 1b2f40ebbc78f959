/* The registers at a probe on x86-64. Included by registers_arch.h. */
#ifndef GPUPROF_REGISTERS_X86_64_H
#define GPUPROF_REGISTERS_X86_64_H

struct pt_regs {
  unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
} __attribute__((preserve_access_index));
#define GPUPROF_ARG1(ctx) ((ctx)->di)
#define GPUPROF_ARG2(ctx) ((ctx)->si)
#define GPUPROF_ARG3(ctx) ((ctx)->dx)
#define GPUPROF_ARG4(ctx) ((ctx)->cx)
#define GPUPROF_ARG5(ctx) ((ctx)->r8)
#define GPUPROF_INSTRUCTION_POINTER(ctx) ((ctx)->ip)
#define GPUPROF_FRAME_POINTER(ctx) ((ctx)->bp)
#define GPUPROF_LINK_REGISTER(ctx) 0 /* there is none */
#define GPUPROF_STACK_POINTER(ctx) ((ctx)->sp)
/* The number of the system call. -1: the thread entered the kernel by a fault or an interrupt. */
#define GPUPROF_SYSTEM_CALL(ctx) ((int)(ctx)->orig_ax)
#define GPUPROF_SYS_EXIT 60
#define GPUPROF_SYS_FUTEX 202
/* Valid only at a function's first instruction. `top`: the word on top of the stack. */
#define GPUPROF_RETURN_ADDRESS(ctx, top) (top)

/* The base of a thread's thread-local storage, from register fs. */
struct thread_struct {
  unsigned long fsbase;
} __attribute__((preserve_access_index));
struct task_struct___x86 {
  struct thread_struct thread;
} __attribute__((preserve_access_index));
#define GPUPROF_THREAD_POINTER(task) BPF_CORE_READ((struct task_struct___x86*)(task), thread.fsbase)
/* pthread_self() is the thread pointer: the address of glibc's struct pthread. */
#define GPUPROF_IS_PTHREAD(address, thread_pointer) ((address) == (thread_pointer))
/* Returns whether the address is in the struct pthread. */
#define GPUPROF_IN_PTHREAD(address, thread_pointer) ((address) - (thread_pointer) < 4096)

#endif
