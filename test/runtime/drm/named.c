/* Loads kernels through Level Zero on a driver without a device. Runs code at their addresses on the fake xe, with
 * known stall samples.
 * arguments: two zebins
 * environment:
 *   FAKE_GPU       device node of the fake GPU
 *   OTHER_PROCESS  use only the second zebin
 *   WAIT_FOR       a file to wait for after Level Zero has been initialized */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <level_zero/ze_api.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "fake_gpu.h"

#define VM 5
#define MEMORY_AT 0x100000000ull /* GPU address of the memory */
#define MEMORY_BYTES 0x10000
#define SPACE 0x100000000ull /* bytes that an instruction base address covers */
#define MOST_ZEBIN_BYTES 0x10000

#define OTHERS_RING 1
#define TO_FIRST 100 /* descriptor of the pipe to the first process */

enum stall { SEND = 4, SBID = 6, SYNC = 7 };

struct program {
  ze_module_handle_t module;
  ze_kernel_handle_t scale, add;
  uint64_t scale_at, add_at;
};

typedef ze_result_t (*base_address_t)(ze_kernel_handle_t, uint64_t*);

static int gpu = -1;
static unsigned queue;
static uint8_t* memory;
static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static base_address_t base_address; /* null: the driver does not report kernel addresses */
static uint64_t last_scale_at;
static int is_other;

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static void check(ze_result_t result, const char* what) {
  if (result != ZE_RESULT_SUCCESS) {
    fprintf(stderr, "%s: error %#x\n", what, (unsigned)result);
    exit(1);
  }
}

static void sleep_ms(unsigned ms) {
  struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {
  }
}

static void call(const char* what, unsigned long command, void* argument) {
  if (ioctl(gpu, command, argument) != 0) {
    fail(what);
  }
}

static void start_level_zero(void) {
  const ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  uint32_t one = 1;
  void* function = NULL;
  check(zeInit(0), "zeInit");
  check(zeDriverGet(&one, &driver), "zeDriverGet");
  one = 1;
  check(zeDeviceGet(driver, &one, &device), "zeDeviceGet");
  check(zeContextCreate(driver, &description, &context), "zeContextCreate");
  if (zeDriverGetExtensionFunctionAddress(driver, "zexKernelGetBaseAddress", &function) == ZE_RESULT_SUCCESS) {
    base_address = (base_address_t)function;
  }
}

static void start_gpu(void) {
  struct fake_gpu_create_queue create = {VM, 0};
  gpu = open(getenv("FAKE_GPU"), O_RDWR | O_CLOEXEC);
  memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (gpu < 0 || memory == MAP_FAILED) {
    fail(getenv("FAKE_GPU"));
  }
  call("queue", FAKE_GPU_CREATE_QUEUE, &create);
  queue = create.queue;
  struct fake_gpu_bind wanted = {VM, 0, MEMORY_AT, (uint64_t)memory, MEMORY_BYTES};
  call("bind", FAKE_GPU_BIND, &wanted);
}

static ze_kernel_handle_t make_kernel(ze_module_handle_t module, const char* name, uint64_t* address) {
  const ze_kernel_desc_t description = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
  ze_kernel_handle_t kernel = NULL;
  check(zeKernelCreate(module, &description, &kernel), "zeKernelCreate");
  if (base_address != NULL) {
    check(base_address(kernel, address), "zexKernelGetBaseAddress");
  }
  return kernel;
}

static struct program load(const char* path) {
  static uint8_t bytes[MOST_ZEBIN_BYTES];
  ze_module_desc_t description = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_NATIVE};
  struct program made = {0};
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    fail(path);
  }
  description.pInputModule = bytes;
  description.inputSize = fread(bytes, 1, sizeof(bytes), file);
  fclose(file);
  check(zeModuleCreate(context, device, &description, &made.module, NULL), "zeModuleCreate");
  made.scale = make_kernel(made.module, "scale", &made.scale_at);
  made.add = make_kernel(made.module, "add", &made.add_at);
  last_scale_at = made.scale_at;
  return made;
}

static void unload(const struct program* program) {
  check(zeKernelDestroy(program->scale), "zeKernelDestroy");
  check(zeKernelDestroy(program->add), "zeKernelDestroy");
  check(zeModuleDestroy(program->module), "zeModuleDestroy");
}

/* Pushes a record in the layout of Xe2: the address begins at bit 0, the 8-bit counts at bit 29. */
static void push(unsigned times, uint64_t address, enum stall stall) {
  struct fake_gpu_stalls pushed = {0, FAKE_GPU_RECORDS, times, 0, {0}};
  uint32_t low = (uint32_t)((address % SPACE) >> 3);
  unsigned bit = 29 + 8 * stall;
  memcpy(pushed.record, &low, sizeof(low));
  pushed.record[bit / 8] |= (uint8_t)(1u << (bit % 8));
  call("stalls", FAKE_GPU_STALLS, &pushed);
}

__attribute__((noinline)) void submit(uint64_t address, unsigned ms) {
  put_kernel_from((uint32_t*)memory, address - address % SPACE, address % SPACE);
  struct fake_gpu_submit job = {is_other ? OTHERS_RING : 0, 0, ms * 1000000ull, queue, 0, MEMORY_AT};
  call("submit", FAKE_GPU_SUBMIT, &job);
  sleep_ms(300); /* until the job runs */
}

/* Waits long enough for all samples to be read. */
static void wait_idle(void) {
  sleep_ms(200);
  call("wait", FAKE_GPU_WAIT, NULL);
}

static void say(int pipe) {
  if (write(pipe, "", 1) != 1) {
    fail("a pipe");
  }
}

static void hear(int pipe) {
  char heard = 0;
  if (read(pipe, &heard, 1) != 1) {
    fail("the other process");
  }
}

__attribute__((noinline)) void first(const struct program* program) {
  submit(program->scale_at, 900);
  push(40, program->scale_at + 0x10, SBID);
  push(30, program->scale_at + 0x20, SEND);
  wait_idle();
}

__attribute__((noinline)) void neighbor(const struct program* program) {
  submit(program->add_at, 900);
  push(20, program->add_at, SYNC);
  wait_idle();
}

__attribute__((noinline)) void other_process(const struct program* program) {
  submit(program->scale_at, 900);
  push(25, program->scale_at + 0x10, SBID);
  wait_idle();
}

__attribute__((noinline)) void reloaded(const struct program* program) {
  submit(program->scale_at, 900);
  push(35, program->scale_at + 0x10, SBID);
  push(15, program->scale_at, SYNC);
  wait_idle();
}

/* Runs a kernel in both processes at the same time, so samples are ambiguous. The first process pushes the samples. */
__attribute__((noinline)) void together(const struct program* program) {
  submit(program->scale_at, is_other ? 4000 : 1500);
  if (is_other) {
    say(TO_FIRST);
  } else {
    push(60, program->scale_at + 0x10, SBID);
  }
  wait_idle();
}

/* Pushes samples at an address whose kernel was unloaded, so the address has no name. */
__attribute__((noinline)) void unloaded(void) {
  submit(last_scale_at, 900);
  push(10, last_scale_at + 0x10, SBID);
  wait_idle();
}

static pid_t start_other_process(char** arguments, int* from_other) {
  extern char** environ;
  pid_t child = 0;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0 || dup2(ends[1], TO_FIRST) < 0) {
    fail("a pipe");
  }
  setenv("OTHER_PROCESS", "1", 1);
  if (posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ) != 0) {
    fail(arguments[0]);
  }
  close(TO_FIRST);
  *from_other = ends[0];
  return child;
}

static void end_other_process(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) {
    fprintf(stderr, "the other process failed\n");
    exit(1);
  }
}

static void wait_for_file(const char* path) {
  struct stat there;
  while (path != NULL && (stat(path, &there) != 0 || there.st_size == 0)) {
    sleep_ms(100);
  }
}

int main(int count, char** arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: %s ZEBIN ZEBIN\n", arguments[0]);
    return 2;
  }
  start_level_zero();
  wait_for_file(getenv("WAIT_FOR"));
  start_gpu();
  is_other = getenv("OTHER_PROCESS") != NULL;
  struct program program = load(arguments[is_other ? 2 : 1]);
  printf("scale at %#llx\n", (unsigned long long)program.scale_at);
  if (is_other) {
    other_process(&program);
    together(&program);
    unload(&program);
    return 0;
  }
  first(&program);
  neighbor(&program);
  int from_other = -1;
  pid_t child = start_other_process(arguments, &from_other); /* this process has the first zebin loaded */
  hear(from_other);
  together(&program);
  end_other_process(child);
  unload(&program);
  program = load(arguments[2]);
  printf("scale at %#llx\n", (unsigned long long)program.scale_at);
  reloaded(&program);
  unload(&program);
  sleep_ms(300);
  unloaded();
  check(zeContextDestroy(context), "zeContextDestroy");
  return 0;
}
