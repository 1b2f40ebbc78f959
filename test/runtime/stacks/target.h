// Shared code of the targets. A target keeps a shadow stack of its functions' names. Each launch writes the shadow
// stack and the kernel's name, so its true stack is known without unwinding.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// FRAME: the compiler keeps the function's frame and name, and neither inlines nor clones it.
#if defined(__has_attribute)
#if __has_attribute(noipa)
#define FRAME __attribute__((noipa))
#endif
#endif
#ifndef FRAME
#define FRAME __attribute__((noinline))
#endif

// Matches one or more foreign frames (libc, the loader), whose names are not compared.
#define STACK_OTHERS "*"

// Stands for outer frames that cannot be walked. The recorded stack must be marked as truncated.
#define STACK_BROKEN "!"

// Makes `function` the innermost function of this thread or context. Returns the argument for stack_leave().
unsigned stack_enter(const char* function);
// Restores the state before the stack_enter() that returned `depth`. As a function's last call, it prevents tail calls.
void stack_leave(unsigned depth);

// Prepares launches of the kernel from code that cannot allocate memory.
void stack_prepare(const char* kernel);
// Launches the kernel; the stack is then [shadow stack] stack_launch cuLaunchKernel ...
void stack_launch(const char* kernel);
// Writes a value about a case, for the test to check.
void stack_note(const char* what, long value);

// Makes the compiler keep the caller's array on the stack.
void stack_keep(void* memory);

// Each context (coroutine, fiber) has its own shadow stack.
struct StackShadow {
  const char* names[64];
  unsigned depth;
};
// Switches to another shadow stack; null stands for the thread's own. Returns the previous shadow stack.
struct StackShadow* stack_switch(struct StackShadow* to);

#define STACK_ENTER const unsigned stack_depth_ = stack_enter(__func__)
#define STACK_LEAVE stack_leave(stack_depth_)
// Call this where an exception or a longjmp arrives. It removes from the shadow stack the functions that were left.
#define STACK_BACK stack_leave(stack_depth_ + 1)

#ifdef __cplusplus
}
#endif
