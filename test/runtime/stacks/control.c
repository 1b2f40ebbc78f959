// Control flow other than call and return: longjmp, signals, contexts.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "cases.h"
#include "target.h"

#define STACK_BYTES (64 * 1024)

static jmp_buf back;

FRAME void jump_back(int value) {
  if (value != 0) {
    longjmp(back, value);
  }
}

__attribute__((noreturn)) FRAME void never_returning(void) {
  STACK_ENTER;
  stack_launch("after_the_end");
  STACK_LEAVE;
  longjmp(back, 1);
}

// This function ends with a call instruction, so the return address belongs to the next function.
__attribute__((noreturn)) FRAME void ending_in_call(int bytes) {
  stack_enter(__func__);
  char block[bytes];
  stack_keep(block);
  never_returning();
}

FRAME void jump_from(int left) {
  STACK_ENTER;
  char block[500];
  stack_keep(block);
  if (left > 0) {
    jump_from(left - 1);
  } else {
    stack_launch("before_longjmp");
    jump_back(1);
  }
  STACK_LEAVE;
}

FRAME void after_jump(void) {
  STACK_ENTER;
  stack_launch("after_longjmp");
  STACK_LEAVE;
}

FRAME void jump(int round) {
  STACK_ENTER;
  if (setjmp(back) == 0) {
    jump_from(50 + round);
  }
  STACK_BACK;
  after_jump();
  STACK_LEAVE;
}

void jump_cases(void) {
  STACK_ENTER;
  for (int round = 0; round < 5; ++round) {
    jump(round);
  }
  if (setjmp(back) == 0) {
    ending_in_call(100);
  }
  STACK_BACK;
  STACK_LEAVE;
}

static const char* volatile handler_kernel;
static volatile sig_atomic_t handled;

FRAME void in_handler(void) {
  STACK_ENTER;
  stack_launch(handler_kernel);
  STACK_LEAVE;
}

FRAME void handler(int number) {
  (void)number;
  STACK_ENTER;
  in_handler();
  handled = 1;
  STACK_LEAVE;
}

FRAME void handler_raising(int number) {
  (void)number;
  STACK_ENTER;
  const unsigned libc = stack_enter(STACK_OTHERS);
  raise(SIGUSR1);
  stack_leave(libc);
  STACK_LEAVE;
}

static void install(int number, void (*function)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = function;
  action.sa_flags = flags;
  sigaction(number, &action, NULL);
}

FRAME void raising(const char* kernel, int number) {
  STACK_ENTER;
  stack_prepare(kernel);
  handler_kernel = kernel;
  handled = 0;
  const unsigned libc = stack_enter(STACK_OTHERS);
  raise(number);
  stack_leave(libc);
  STACK_LEAVE;
}

// A signal interrupts this function. Between it and the handler are the Linux kernel's signal frame and the restorer.
FRAME void interrupted(void) {
  STACK_ENTER;
  const unsigned restorer = stack_enter(STACK_OTHERS);
  while (!handled) {
  }
  stack_leave(restorer);
  STACK_LEAVE;
}

// A signal interrupts this leaf function. The function has no frame: rsp points to its return address.
FRAME int spin(volatile sig_atomic_t* until, int turns) {
  int sum = turns;
  while (!*until) {
    sum += turns;
  }
  return sum;
}

FRAME int interrupted_leaf(void) {
  STACK_ENTER;
  const unsigned leaf = stack_enter("spin");
  const unsigned restorer = stack_enter(STACK_OTHERS);
  const int sum = spin(&handled, 1);
  stack_leave(restorer);
  stack_leave(leaf);
  STACK_LEAVE;
  return sum;
}

static void timer(const char* kernel) {
  stack_prepare(kernel);
  handler_kernel = kernel;
  handled = 0;
  const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
  setitimer(ITIMER_REAL, &soon, NULL);
}

FRAME void writing_nowhere(void) {
  STACK_ENTER;
  stack_prepare("sigsegv");
  handler_kernel = "sigsegv";
  const unsigned restorer = stack_enter(STACK_OTHERS);
  char* page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *(volatile char*)page = 1;
  stack_leave(restorer);
  munmap(page, 4096);
  STACK_LEAVE;
}

FRAME void faulted(int number, siginfo_t* info, void* context) {
  (void)context;
  STACK_ENTER;
  handler(number);
  mprotect(info->si_addr, 4096, PROT_READ | PROT_WRITE);
  STACK_LEAVE;
}

FRAME void trapped(int number, siginfo_t* info, void* context) {
  (void)info;
  STACK_ENTER;
  handler(number);
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 2;  // skips the instruction
  STACK_LEAVE;
}

FRAME void trapping(void) {
  STACK_ENTER;
  stack_prepare("trap");
  handler_kernel = "trap";
  const unsigned trap = stack_enter("asm_trap");
  const unsigned restorer = stack_enter(STACK_OTHERS);
  asm_trap();
  stack_leave(restorer);
  stack_leave(trap);
  STACK_LEAVE;
}

static void install_with_context(int number, void (*function)(int, siginfo_t*, void*)) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_sigaction = function;
  action.sa_flags = SA_SIGINFO;
  sigaction(number, &action, NULL);
}

void signal_cases(void) {
  STACK_ENTER;
  install(SIGUSR1, handler, 0);
  raising("signal", SIGUSR1);
  install(SIGUSR2, handler_raising, 0);
  raising("signal_in_signal", SIGUSR2);

  const stack_t own = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
  sigaltstack(&own, NULL);
  install(SIGUSR1, handler, SA_ONSTACK);
  raising("signal_on_alternate_stack", SIGUSR1);
  install(SIGALRM, handler, SA_ONSTACK);
  timer("timer_on_alternate_stack");
  interrupted();
  install(SIGALRM, handler, SA_RESTART);
  timer("timer");
  interrupted();
  timer("timer_in_leaf");
  interrupted_leaf();

  install_with_context(SIGSEGV, faulted);
  writing_nowhere();
  signal(SIGSEGV, SIG_DFL);
  install_with_context(SIGILL, trapped);
  trapping();
  STACK_LEAVE;
}

static struct {
  ucontext_t main, context;
  struct StackShadow shadow;
} uc;

FRAME void in_ucontext(int rounds) {
  STACK_ENTER;
  for (int i = 0; i < rounds; ++i) {
    stack_launch("makecontext");
    stack_switch(NULL);
    swapcontext(&uc.context, &uc.main);
    stack_switch(&uc.shadow);
  }
  STACK_LEAVE;
}

void ucontext_main(void) {
  STACK_ENTER;
  in_ucontext(3);
  STACK_LEAVE;
}

FRAME void with_ucontext(void) {
  STACK_ENTER;
  char* stack = malloc(STACK_BYTES);
  getcontext(&uc.context);
  uc.context.uc_stack.ss_sp = stack;
  uc.context.uc_stack.ss_size = STACK_BYTES;
  uc.context.uc_link = &uc.main;
  makecontext(&uc.context, ucontext_main, 0);
  for (int i = 0; i < 3; ++i) {
    stack_switch(&uc.shadow);
    swapcontext(&uc.main, &uc.context);
    stack_switch(NULL);
    stack_launch("between_contexts");
  }
  free(stack);
  STACK_LEAVE;
}

static struct {
  void* main;
  void* context;
  struct StackShadow shadow;
} fiber;

FRAME void in_fiber(int left) {
  STACK_ENTER;
  if (left > 0) {
    in_fiber(left - 1);
  } else {
    stack_launch("fiber");
    stack_switch(NULL);
    asm_switch(&fiber.context, fiber.main);
    stack_switch(&fiber.shadow);
    stack_launch("fiber_again");
  }
  STACK_LEAVE;
}

void fiber_main(void* argument) {
  const unsigned root = stack_enter("asm_context_begin");
  STACK_ENTER;
  in_fiber(*(int*)argument);
  for (;;) {
    stack_switch(NULL);
    asm_switch(&fiber.context, fiber.main);
  }
  STACK_LEAVE;
  stack_leave(root);
}

FRAME void with_fiber(void) {
  STACK_ENTER;
  int depth = 10;
  char* stack = malloc(STACK_BYTES);
  void** top = (void**)(((uintptr_t)stack + STACK_BYTES) & ~(uintptr_t)15) - 2;
  *--top = (void*)(uintptr_t)asm_context_begin;
  *--top = NULL;                          // rbp
  *--top = (void*)(uintptr_t)fiber_main;  // rbx
  *--top = &depth;                        // r12
  top -= 3;                               // r13, r14, r15
  memset(top, 0, 3 * sizeof(void*));
  fiber.context = top;
  for (int i = 0; i < 2; ++i) {
    stack_switch(&fiber.shadow);
    asm_switch(&fiber.main, fiber.context);
    stack_switch(NULL);
    stack_launch("between_fibers");
  }
  free(stack);
  STACK_LEAVE;
}

void context_cases(void) {
  STACK_ENTER;
  with_ucontext();
  with_fiber();
  STACK_LEAVE;
}
