#define _GNU_SOURCE
#include "target.h"

#include <cuda.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_DEPTH 4096
#define MAX_KERNELS 16384 /* a power of two */
#define MAX_TEXT (MAX_DEPTH * 24)

struct Kernel {
  char name[56];
  CUfunction function;
};

static struct {
  pthread_mutex_t mutex;
  CUcontext context;
  struct Kernel kernels[MAX_KERNELS];  // indexed by the hash of the name
  char text[MAX_TEXT];
  atomic_flag text_busy;
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER, .text_busy = ATOMIC_FLAG_INIT};

// Per-thread data. Never freed: the thread's last functions may run after all other thread data is gone.
struct Own {
  const char* names[MAX_DEPTH];
  unsigned depth;
};
static __thread struct Own* own __attribute__((tls_model("initial-exec")));
static __thread struct StackShadow* other __attribute__((tls_model("initial-exec")));
static void* volatile kept;
static __thread int has_context __attribute__((tls_model("initial-exec")));

static void fail(const char* what) {
  dprintf(2, "%s\n", what);
  _exit(70);
}

static void check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) {
    fail(what);
  }
}

static struct Own* own_shadow(void) {
  if (own == NULL) {
    own = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED) {
      fail("no memory for a shadow stack");
    }
  }
  return own;
}

unsigned stack_enter(const char* function) {
  if (other != NULL) {
    if (other->depth >= sizeof(other->names) / sizeof(other->names[0])) {
      fail("shadow stack of a context is full");
    }
    other->names[other->depth] = function;
    return other->depth++;
  }
  struct Own* shadow = own_shadow();
  if (shadow->depth >= MAX_DEPTH) {
    fail("shadow stack is full");
  }
  shadow->names[shadow->depth] = function;
  return shadow->depth++;
}

void stack_leave(unsigned depth) {
  *(other != NULL ? &other->depth : &own_shadow()->depth) = depth;
}

struct StackShadow* stack_switch(struct StackShadow* to) {
  struct StackShadow* before = other;
  other = to;
  return before;
}

static struct Kernel* find(const char* name) {
  uint32_t hash = 2166136261u;
  for (const char* at = name; *at != '\0'; ++at) {
    hash = (hash ^ (unsigned char)*at) * 16777619u;
  }
  for (uint32_t i = 0; i < MAX_KERNELS; ++i) {
    struct Kernel* kernel = &state.kernels[(hash + i) % MAX_KERNELS];
    if (kernel->name[0] == '\0' || strcmp(kernel->name, name) == 0) {
      return kernel;
    }
  }
  fail("too many kernels");
  return NULL;
}

static void open_device(void) {
  CUdevice device = 0;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&state.context, device), "cuDevicePrimaryCtxRetain");
}

static CUfunction function_of(const char* name) {
  pthread_mutex_lock(&state.mutex);
  if (state.context == NULL) {
    open_device();
  }
  if (!has_context) {
    check(cuCtxSetCurrent(state.context), "cuCtxSetCurrent");
    has_context = 1;
  }
  struct Kernel* kernel = find(name);
  if (kernel->function == NULL) {
    char image[80];
    CUmodule module = NULL;
    if (strlen(name) >= sizeof(kernel->name)) {
      fail("a kernel's name is too long");
    }
    snprintf(image, sizeof(image), "%s 100\n", name);
    check(cuModuleLoadData(&module, image), "cuModuleLoadData");
    check(cuModuleGetFunction(&kernel->function, module, name), "cuModuleGetFunction");
    strcpy(kernel->name, name);
  }
  pthread_mutex_unlock(&state.mutex);
  return kernel->function;
}

static size_t put(size_t at, const char* text) {
  const size_t length = strlen(text);
  if (at + length + 2 > sizeof(state.text)) {
    fail("a stack's text is too long");
  }
  memcpy(state.text + at, text, length);
  return at + length;
}

// Makes one write per line, as threads and processes share the file.
static void write_down(size_t length) {
  const char* path = getenv("STACKS_EXPECTED");
  if (path == NULL) {
    return;
  }
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || write(file, state.text, length) != (ssize_t)length) {
    fail("cannot write STACKS_EXPECTED");
  }
  close(file);
}

static void write_expected(const char* kernel) {
  while (atomic_flag_test_and_set(&state.text_busy)) {
  }
  size_t at = put(0, kernel);
  const unsigned depth = other != NULL ? other->depth : own_shadow()->depth;
  for (unsigned i = 0; i < depth; ++i) {
    state.text[at++] = ';';
    at = put(at, other != NULL ? other->names[i] : own->names[i]);
  }
  state.text[at++] = '\n';
  write_down(at);
  atomic_flag_clear(&state.text_busy);
}

void stack_prepare(const char* kernel) {
  function_of(kernel);
}

FRAME void stack_launch(const char* kernel) {
  const CUfunction function = function_of(kernel);
  STACK_ENTER;
  write_expected(kernel);
  check(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
  STACK_LEAVE;
}

void stack_keep(void* memory) {
  kept = memory;
}

void stack_note(const char* what, long value) {
  while (atomic_flag_test_and_set(&state.text_busy)) {
  }
  write_down((size_t)snprintf(state.text, sizeof(state.text), "#%s %ld\n", what, value));
  atomic_flag_clear(&state.text_busy);
}
