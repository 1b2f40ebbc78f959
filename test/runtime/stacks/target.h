// What the targets share. A target keeps a shadow stack of its functions' names; each launch writes it down next to the
// kernel's name, so that the true stack of every launch is known without unwinding.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// A function with a frame of its own under its own name, whatever the compiler would rather do.
#if defined(__has_attribute)
#if __has_attribute(noipa)
#define FRAME __attribute__((noipa))
#endif
#endif
#ifndef FRAME
#define FRAME __attribute__((noinline))
#endif

// Frames of others (libc, the loader): one or more, names not looked at.
#define STACK_OTHERS "*"

// As the first function: what is above can not be known, and the stack must say so.
#define STACK_BROKEN "!"

// From now on `function` is the innermost one of this thread (or context); returns what stack_leave() wants.
unsigned stack_enter(const char* function);
// Back to before the stack_enter() that returned `depth`. Called last, it also keeps calls before it from being tail
// calls.
void stack_leave(unsigned depth);

// Makes launches of the kernel possible where nothing can be allocated.
void stack_prepare(const char* kernel);
// Launches it; the stack is then [shadow stack] stack_launch cuLaunchKernel ...
void stack_launch(const char* kernel);
// Says something about a case; the test looks for it.
void stack_note(const char* what, long value);

// Whoever gives it an array keeps that on the stack.
void stack_keep(void* memory);

// Each context (coroutine, fiber) has a shadow stack of its own.
struct StackShadow {
  const char* names[64];
  unsigned depth;
};
// null: the thread's own. Returns the one before.
struct StackShadow* stack_switch(struct StackShadow* to);

#define STACK_ENTER const unsigned stack_depth_ = stack_enter(__func__)
#define STACK_LEAVE stack_leave(stack_depth_)
// After an exception or a longjmp has ended up in this function: those that it left are gone.
#define STACK_BACK stack_leave(stack_depth_ + 1)

#ifdef __cplusplus
}
#endif
