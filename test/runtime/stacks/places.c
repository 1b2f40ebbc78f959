// Threads, processes, paged-out memory, and code generated at run time.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "target.h"

#define THREADS 8
#define LAUNCHES 20
#define PAGE 4096
#define COLD_STACK (4 << 20)

static pthread_barrier_t together;

FRAME void thread_deep(int left, const char* kernel) {
  STACK_ENTER;
  if (left > 0) {
    thread_deep(left - 1, kernel);
  } else {
    stack_launch(kernel);
  }
  STACK_LEAVE;
}

void* thread_main(void* argument) {
  STACK_ENTER;
  const int number = (int)(intptr_t)argument;
  char kernel[32];
  snprintf(kernel, sizeof(kernel), "thread_%d", number);
  pthread_barrier_wait(&together);
  for (int i = 0; i < LAUNCHES; ++i) {
    thread_deep(number * 3, kernel);
  }
  STACK_LEAVE;
  return NULL;
}

// Runs on a stack of 16 KiB, which is enough for the mock driver.
void* small_stack_main(void* argument) {
  (void)argument;
  STACK_ENTER;
  thread_deep(3, "small_stack");
  STACK_LEAVE;
  return NULL;
}

FRAME void clean_up(void* argument) {
  STACK_ENTER;
  stack_launch(argument);
  STACK_LEAVE;
}

void* exiting_main(void* argument) {
  (void)argument;
  STACK_ENTER;
  pthread_cleanup_push(clean_up, "cleanup_by_exit");
  const unsigned libc = stack_enter(STACK_OTHERS);
  pthread_exit(NULL);
  stack_leave(libc);
  pthread_cleanup_pop(0);
  STACK_LEAVE;
  return NULL;
}

void* popping_main(void* argument) {
  (void)argument;
  STACK_ENTER;
  pthread_cleanup_push(clean_up, "cleanup_by_pop");
  pthread_cleanup_pop(1);
  STACK_LEAVE;
  return NULL;
}

static void run_thread(const pthread_attr_t* attributes, void* (*function)(void*), void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, attributes, function, argument) != 0) {
    abort();
  }
  pthread_join(thread, NULL);
}

static void run_on_stack(void* stack, size_t bytes, void* (*function)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstack(&attributes, stack, bytes) != 0) {
    abort();
  }
  run_thread(&attributes, function, argument);
  pthread_attr_destroy(&attributes);
}

FRAME void last_words(void) {
  const unsigned libc = stack_enter(STACK_OTHERS);
  STACK_ENTER;
  stack_launch("atexit");
  STACK_LEAVE;
  stack_leave(libc);
}

void thread_cases(void) {
  STACK_ENTER;
  pthread_t threads[THREADS];
  pthread_barrier_init(&together, NULL, THREADS);
  for (intptr_t i = 0; i < THREADS; ++i) {
    pthread_create(&threads[i], NULL, thread_main, (void*)i);
  }
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
  }
  stack_prepare("small_stack");
  void* small = mmap(NULL, PTHREAD_STACK_MIN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  run_on_stack(small, (size_t)PTHREAD_STACK_MIN, small_stack_main, NULL);
  run_thread(NULL, exiting_main, NULL);
  run_thread(NULL, popping_main, NULL);
  atexit(last_words);
  STACK_LEAVE;
}

FRAME void in_child(void) {
  STACK_ENTER;
  stack_launch("fork_child");
  STACK_LEAVE;
}

FRAME void forking(void) {
  STACK_ENTER;
  const pid_t child = fork();
  if (child == 0) {
    in_child();
    exit(0);  // the library sends its records at exit
  }
  waitpid(child, NULL, 0);
  STACK_LEAVE;
}

FRAME void vforking(void) {
  STACK_ENTER;
  const char* const arguments[] = {"/proc/self/exe", "assembly", NULL};
  const pid_t child = vfork();
  if (child == 0) {
    execv(arguments[0], (char* const*)(uintptr_t)arguments);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  stack_note("exec_status", status);
  STACK_LEAVE;
}

void process_cases(void) {
  STACK_ENTER;
  forking();
  vforking();
  STACK_LEAVE;
}

static long pages_out(uintptr_t begin, uintptr_t end) {
  long out = 0;
  const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  for (uintptr_t page = begin; map >= 0 && page < end; page += PAGE) {
    uint64_t entry = 0;
    if (pread(map, &entry, sizeof(entry), (off_t)(page / PAGE * sizeof(entry))) == sizeof(entry) && !(entry >> 63)) {
      ++out;
    }
  }
  close(map);
  return out;
}

static struct { uintptr_t begin, end; } cold;

// Pages out the callers' frames on the stack. Their memory is backed by a file, so no swap is needed.
FRAME void drop_callers(void) {
  STACK_ENTER;
  const uintptr_t begin = ((uintptr_t)__builtin_frame_address(0) + 4 * PAGE) & ~(uintptr_t)(PAGE - 1);
  const uintptr_t end = cold.end - 4 * PAGE;  // the thread's own data lie at higher addresses
  if (madvise((void*)begin, end - begin, MADV_DONTNEED) != 0) {
    abort();
  }
  stack_note("stack_pages_out", pages_out(begin, end));
  stack_launch("cold_stack");
  STACK_LEAVE;
}

FRAME void cold_deep(int left) {
  STACK_ENTER;
  char block[1500];
  stack_keep(block);
  if (left > 0) {
    cold_deep(left - 1);
  } else {
    drop_callers();
  }
  STACK_LEAVE;
}

void* cold_main(void* argument) {
  (void)argument;
  STACK_ENTER;
  cold_deep(200);
  STACK_LEAVE;
  return NULL;
}

// Pages out the program's code and the read-only data after it, which include .eh_frame. Pages in use return at once.
// Read-only data elsewhere are left alone, as relocations may have written to them.
FRAME void drop_code(void) {
  STACK_ENTER;
  char line[512];
  int after_code = 0;
  long out = 0;
  FILE* maps = fopen("/proc/self/maps", "re");
  while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char rights[5] = "";
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3 || strstr(line, "stacks_") == NULL) {
      continue;
    }
    const int code = strcmp(rights, "r-xp") == 0;
    if (code || (after_code && strcmp(rights, "r--p") == 0)) {
      madvise((void*)begin, end - begin, MADV_PAGEOUT);
      madvise((void*)begin, end - begin, MADV_DONTNEED);
      out += pages_out(begin, end);
    }
    after_code = code;
  }
  fclose(maps);
  stack_note("code_pages_out", out);
  stack_launch("cold_code");
  STACK_LEAVE;
}

void page_cases(void) {
  STACK_ENTER;
  const int file = memfd_create("stack", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, COLD_STACK) != 0) {
    abort();
  }
  void* stack = mmap(NULL, COLD_STACK, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  cold.begin = (uintptr_t)stack;
  cold.end = cold.begin + COLD_STACK;
  stack_prepare("cold_stack");
  run_on_stack(stack, COLD_STACK, cold_main, NULL);
  drop_code();
  STACK_LEAVE;
}

FRAME void called_by_jit(void* argument) {
  STACK_ENTER;
  stack_launch(argument);
  STACK_LEAVE;
}

// push rbp; mov rbp, rsp; sub rsp, 32; mov rax, rdi; mov rdi, rsi; call rax; leave; ret
static const unsigned char kJitCode[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x48,
                                         0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0xc9, 0xc3};

static void write_perf_map(uintptr_t code) {
  char path[64];
  snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
  FILE* map = fopen(path, "we");
  if (map == NULL) {
    abort();
  }
  fprintf(map, "%lx %zx jit_function\n", (unsigned long)code, sizeof(kJitCode));
  fclose(map);
}

FRAME void calling_jit(void) {
  STACK_ENTER;
  unsigned char* code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code + 64, kJitCode, sizeof(kJitCode));
  mprotect(code, PAGE, PROT_READ | PROT_EXEC);
  write_perf_map((uintptr_t)code + 64);
  const unsigned jit = stack_enter("jit_function");
  ((void (*)(Function*, void*))(uintptr_t)(code + 64))(called_by_jit, "jit");
  stack_leave(jit);
  STACK_LEAVE;
}

void jit_cases(void) {
  STACK_ENTER;
  calling_jit();
  STACK_LEAVE;
}

FRAME void in_assembly(void* argument) {
  STACK_ENTER;
  stack_launch(argument);
  STACK_LEAVE;
}

static const struct {
  const char* name;
  void (*function)(Function*, void*);
} kAssembly[] = {
    {"asm_push_pop", asm_push_pop},
    {"asm_early_out", asm_early_out},
    {"asm_frame_register", asm_frame_register},
    {"asm_frame_garbage", asm_frame_garbage},
    {"asm_expression_sp", asm_expression_sp},
    {"asm_expression_fp", asm_expression_fp},
    {"asm_without_cfi", asm_without_cfi},
    {"asm_many_advances", asm_many_advances},
};
enum { kAssemblies = sizeof(kAssembly) / sizeof(kAssembly[0]) };

FRAME void nested(void* left) {
  STACK_ENTER;
  const intptr_t i = (intptr_t)left;
  if (i < kAssemblies) {
    const unsigned depth = stack_enter(kAssembly[i].name);
    kAssembly[i].function(nested, (void*)(i + 1));
    stack_leave(depth);
  } else {
    stack_launch("asm_nested");
  }
  STACK_LEAVE;
}

// Launches with frame pointers that no walk can follow. These stacks must be marked as truncated, and do no harm.
FRAME void broken_frames(void) {
  STACK_ENTER;
  // A frame that is its own caller: its saved frame pointer leads back to it. It returns to code without CFI.
  void* loop[2] = {loop, (void*)((uintptr_t)asm_without_cfi + 16)};
  // A frame without a caller, like a thread's outermost frame.
  void* zeros[2] = {NULL, NULL};
  const struct {
    const char* kernel;
    void* frame_pointer;
  } frames[] = {{"broken_not_canonical", (void*)(uintptr_t)0x6761726261676521},
                {"broken_not_mapped", (void*)(uintptr_t)0x1000},
                {"broken_loop", loop},
                {"broken_zero", NULL},
                {"broken_zeros", zeros}};
  for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); ++i) {
    struct StackShadow shadow = {.depth = 0};
    stack_prepare(frames[i].kernel);
    stack_switch(&shadow);
    stack_enter(STACK_BROKEN);
    stack_enter("asm_broken");
    asm_broken(in_assembly, (void*)(uintptr_t)frames[i].kernel, frames[i].frame_pointer);
    stack_switch(NULL);
  }
  STACK_LEAVE;
}

FRAME void on_other_stack(void) {
  STACK_ENTER;
  char* stack = malloc(64 * 1024);
  const unsigned depth = stack_enter("asm_on_stack");
  asm_on_stack(in_assembly, "asm_on_stack", stack + 64 * 1024);
  stack_leave(depth);
  free(stack);
  STACK_LEAVE;
}

void assembly_cases(void) {
  STACK_ENTER;
  for (int i = 0; i < kAssemblies; ++i) {
    const unsigned depth = stack_enter(kAssembly[i].name);
    kAssembly[i].function(in_assembly, (void*)(uintptr_t)kAssembly[i].name);
    stack_leave(depth);
  }
  nested(NULL);
  broken_frames();
  on_other_stack();
  STACK_LEAVE;
}
