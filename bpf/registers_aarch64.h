/* The registers at a probe on aarch64. Included by registers_arch.h. */
#ifndef GPUPROF_REGISTERS_AARCH64_H
#define GPUPROF_REGISTERS_AARCH64_H

struct pt_regs {
  __u64 regs[31];
  __u64 sp, pc, pstate;
  __s32 syscallno;
} __attribute__((preserve_access_index));
#define GPUPROF_ARG1(ctx) ((ctx)->regs[0])
#define GPUPROF_ARG2(ctx) ((ctx)->regs[1])
#define GPUPROF_ARG3(ctx) ((ctx)->regs[2])
#define GPUPROF_ARG4(ctx) ((ctx)->regs[3])
#define GPUPROF_ARG5(ctx) ((ctx)->regs[4])
#define GPUPROF_INSTRUCTION_POINTER(ctx) ((ctx)->pc)
#define GPUPROF_FRAME_POINTER(ctx) ((ctx)->regs[29])
#define GPUPROF_LINK_REGISTER(ctx) ((ctx)->regs[30])
#define GPUPROF_STACK_POINTER(ctx) ((ctx)->sp)
/* The number of the system call. -1: the thread entered the kernel by a fault or an interrupt. */
#define GPUPROF_SYSTEM_CALL(ctx) ((ctx)->syscallno)
#define GPUPROF_SYS_EXIT 93
#define GPUPROF_SYS_FUTEX 98
/* Valid only at a function's first instruction. `top`: the word on top of the stack. */
#define GPUPROF_RETURN_ADDRESS(ctx, top) GPUPROF_CODE_ADDRESS(GPUPROF_LINK_REGISTER(ctx))

/* The base of a thread's thread-local storage, from register tpidr_el0. The kernel notes it when it creates the thread,
 * and each time that it takes the CPU from the thread. */
struct thread_user_words {
  unsigned long tp_value;
} __attribute__((preserve_access_index));
struct thread_struct {
  struct thread_user_words uw;
} __attribute__((preserve_access_index));
struct task_struct___arm64 {
  struct thread_struct thread;
} __attribute__((preserve_access_index));
#define GPUPROF_THREAD_POINTER(task) BPF_CORE_READ((struct task_struct___arm64*)(task), thread.uw.tp_value)
/* pthread_self() is the address of glibc's struct pthread. It ends where the thread pointer points. Its size depends on
 * glibc's version, but is less than 4 KB; two of them are farther apart. */
#define GPUPROF_IS_PTHREAD(address, thread_pointer) ((thread_pointer) - (address)-1 < 4095)
/* Returns whether the address is in the struct pthread. */
#define GPUPROF_IN_PTHREAD(address, thread_pointer) ((thread_pointer) - (address)-1 < 4095)

#endif
