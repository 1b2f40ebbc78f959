/* Submits jobs with known kernels to the fake xe, from known functions, and pushes known stall samples.
 * environment: FAKE_GPU, its device node */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "fake_gpu.h"

#define VM 5
#define MEMORY_BYTES 0x40000
#define MEMORY_AT 0x100000000ull /* GPU address of the memory */
#define CHAINED 0x8000ull        /* this and the following constants are addresses of kernels */
#define LATE 0x20000ull
#define TWICE 0x40000ull
#define IN_OBJECT 0x60000ull
#define OBJECT 9
#define OBJECT_AT 0x300010000ull
#define OBJECT_BYTES 0x3000
#define NOWHERE 0x7000000ull
#define REBOUND 0x80000ull
#define REBOUND_AT 0x400000000ull
#define REBOUND_BYTES 0x100000
#define MAPPED_AGAIN 0x90000ull
#define DRIVERS_OWN 0xa0000ull
#define GONE 0xb0000ull
#define OTHER_VM 6
#define MANY 10
#define MANY_LATE 0x1000000ull
#define UNTIMED 0x2000000ull
#define LISTED 0x3000000ull
#define MIRRORED 0x3100000ull
#define READ_LATE 0x3200000ull
#define LISTED_AT 0x500000000ull

enum stall { TDR, OTHER, CONTROL, PIPESTALL, SEND, DIST_ACC, SBID, SYNC, INST_FETCH, ACTIVE };

static int gpu = -1;
static unsigned own_ms; /* duration of the job that the driver itself queues with each submission; 0: none */
static unsigned queues[FAKE_GPU_RINGS];
static unsigned no_fence; /* FAKE_GPU_NO_FENCE: the driver gives Linux's scheduler no fence */
static uint8_t* memory;

__attribute__((noinline)) int gpu_ioctl(int file, unsigned long command, void* argument) {
  int result = ioctl(file, command, argument);
  __asm__ volatile("" ::: "memory");
  return result;
}

static void call(const char* what, unsigned long command, void* argument) {
  if (gpu_ioctl(gpu, command, argument) != 0) {
    perror(what);
    exit(1);
  }
}

static void sleep_ms(unsigned ms) {
  struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {
  }
}

__attribute__((noinline)) void submit(unsigned ring, unsigned ms, uint64_t batch) {
  struct fake_gpu_submit job = {ring, no_fence, ms * 1000000ull, queues[ring], 0, batch};
  job.own = own_ms;
  call("submit", FAKE_GPU_SUBMIT, &job);
  __asm__ volatile("" ::: "memory");
}

static void wait_idle(void) {
  call("wait", FAKE_GPU_WAIT, NULL);
}

static void bind(uint64_t address, unsigned object, void* to, uint64_t bytes) {
  struct fake_gpu_bind wanted = {VM, object, address, (uint64_t)to, bytes};
  call("bind", FAKE_GPU_BIND, &wanted);
}

/* Pushes a record in the layout of Xe2: the address begins at bit 0, the 8-bit counts at bit 29. */
static void push(unsigned gt, unsigned times, uint64_t address, enum stall stall, unsigned count) {
  struct fake_gpu_stalls pushed = {gt, FAKE_GPU_RECORDS, times, 0, {0}};
  unsigned at = 29 + 8 * stall;
  uint64_t low = address >> 3;
  memcpy(pushed.record, &low, 4);
  for (unsigned bit = 0; bit < 8; ++bit) {
    if (count >> bit & 1) {
      pushed.record[(at + bit) / 8] |= 1u << ((at + bit) % 8);
    }
  }
  /* After a reset the stream is unavailable for a moment. */
  for (int i = 0; gpu_ioctl(gpu, FAKE_GPU_STALLS, &pushed) != 0; ++i) {
    if (errno != ENOLINK || i == 600) {
      perror("stalls");
      exit(1);
    }
    sleep_ms(50);
  }
}

static void disturb(unsigned gt, enum fake_gpu_stall_what what) {
  struct fake_gpu_stalls pushed = {gt, what, 0, 0, {0}};
  call("disturb", FAKE_GPU_STALLS, &pushed);
}

static uint32_t* words(unsigned offset) {
  return (uint32_t*)(memory + offset);
}

static void write_chain(unsigned offset, uint64_t start) {
  put_jump(words(offset), MEMORY_AT + offset + 0x1000);
  put_jump(words(offset + 0x1000), MEMORY_AT + offset + 0x2000);
  put_jump(words(offset + 0x2000), MEMORY_AT + offset + 0x3000);
  put_kernel(words(offset + 0x3000), start);
}

__attribute__((noinline)) void chained(void) {
  submit(0, 2000, MEMORY_AT);
  sleep_ms(400);
  push(0, 60, CHAINED + 0x40, SBID, 1);
  push(1, 40, CHAINED + 0x48, SEND, 2);
  sleep_ms(200);
  disturb(0, FAKE_GPU_DROP);
  sleep_ms(200);
  push(0, 30, CHAINED + 0x40, SBID, 1);
  sleep_ms(200);
  disturb(0, FAKE_GPU_RESET);
  sleep_ms(200);
  push(0, 10, CHAINED + 0x40, ACTIVE, 3);
  wait_idle();
}

/* Writes the commands of a batch only after its kernel has been sampled. */
__attribute__((noinline)) void late(void) {
  submit(0, 1500, MEMORY_AT + 0x10000);
  sleep_ms(300);
  push(0, 70, LATE + 0x10, SYNC, 1);
  sleep_ms(500);
  put_kernel(words(0x10000), LATE);
  wait_idle();
}

__attribute__((noinline)) void forward(void) {
  submit(0, 1500, MEMORY_AT + 0x20000);
}

__attribute__((noinline)) void backward(void) {
  submit(1, 1500, MEMORY_AT + 0x20000);
}

/* Runs two jobs at the same time, for equally long. */
__attribute__((noinline)) void twice(void) {
  put_kernel(words(0x20000), TWICE);
  forward();
  backward();
  sleep_ms(600);
  push(0, 200, TWICE + 0x80, DIST_ACC, 1);
  push(0, 50, NOWHERE, CONTROL, 1);
  wait_idle();
}

/* Puts a batch into an object that is bound before it is mapped. */
__attribute__((noinline)) void in_object(void) {
  struct fake_gpu_object object = {OBJECT, 0, 0};
  bind(OBJECT_AT, OBJECT, NULL, OBJECT_BYTES);
  call("object", FAKE_GPU_OBJECT, &object);
  uint8_t* mapped = mmap(NULL, OBJECT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)object.offset);
  if (mapped == MAP_FAILED) {
    perror("map an object");
    exit(1);
  }
  put_kernel((uint32_t*)(mapped + 0x2000), IN_OBJECT);
  submit(1, 1000, OBJECT_AT + 0x2000);
  sleep_ms(400);
  push(1, 25, IN_OBJECT + 0x8, PIPESTALL, 1);
  wait_idle();
}

/* Puts another kernel at the address of an earlier one. */
__attribute__((noinline)) void reused(void) {
  void* code = mmap(NULL, 0x10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint64_t at = used_layout()->bases_off ? 0 : CODE_AT;
  bind(at, 0, NULL, 0x10000);
  bind(at, 0, code, 0x10000);
  submit(0, 1000, MEMORY_AT);
  sleep_ms(400);
  push(0, 15, CHAINED + 0x40, SBID, 1);
  wait_idle();
}

/* Submits many batches, and writes their commands only after the last submission. */
__attribute__((noinline)) void many_late(void) {
  for (unsigned i = 0; i < MANY; ++i) {
    submit(0, 20, MEMORY_AT + 0x35000 + i * 0x1000);
  }
  for (unsigned i = 0; i < MANY; ++i) {
    put_kernel(words(0x35000 + i * 0x1000), MANY_LATE + i * 0x1000);
  }
  wait_idle();
}

static void* more_memory(void) {
  void* mapped = mmap(NULL, REBOUND_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    perror("more memory");
    exit(1);
  }
  return mapped;
}

/* Rebinds a page of a range, then the complete range, then the page again. The batch is always in the last binding. */
__attribute__((noinline)) void rebound(void) {
  uint8_t* whole = more_memory();
  uint8_t* page = more_memory();
  uint8_t* again = more_memory();
  put_kernel((uint32_t*)page, NOWHERE);
  put_kernel((uint32_t*)(again + 0x3000), REBOUND);
  bind(REBOUND_AT, 0, whole, REBOUND_BYTES);
  bind(REBOUND_AT + 0x3000, 0, page, 0x1000);
  bind(REBOUND_AT, 0, again, REBOUND_BYTES);
  submit(0, 500, REBOUND_AT + 0x3000);
  sleep_ms(200);
  push(0, 35, REBOUND, SEND, 1);
  wait_idle();
  put_kernel((uint32_t*)page, REBOUND + 0x1000);
  bind(REBOUND_AT + 0x3000, 0, page, 0x1000);
  submit(0, 500, REBOUND_AT + 0x3000);
  sleep_ms(200);
  push(0, 45, REBOUND + 0x1008, SEND, 1);
  wait_idle();
}

/* Reuses the number of an object that is still bound. */
__attribute__((noinline)) void mapped_again(void) {
  struct fake_gpu_gone closed = {.object = OBJECT};
  struct fake_gpu_object object = {OBJECT, 0, 0};
  call("close an object", FAKE_GPU_GONE, &closed);
  call("object", FAKE_GPU_OBJECT, &object);
  uint8_t* mapped = mmap(NULL, OBJECT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)object.offset);
  put_kernel((uint32_t*)(mapped + 0x2000), NOWHERE);
  submit(1, 500, OBJECT_AT + 0x2000);
  sleep_ms(200);
  push(1, 55, IN_OBJECT + 0x10, PIPESTALL, 1);
  wait_idle();
}

/* The driver queues a job of its own first. That job runs longer, but does not run the kernel. */
__attribute__((noinline)) void drivers_own(void) {
  put_kernel(words(0x34000), DRIVERS_OWN);
  own_ms = 1500;
  submit(0, 400, MEMORY_AT + 0x34000);
  own_ms = 0;
  sleep_ms(200);
  push(0, 65, DRIVERS_OWN, SYNC, 1);
  sleep_ms(700);
  push(0, 5, DRIVERS_OWN, CONTROL, 1); /* these samples belong to no job */
  wait_idle();
}

__attribute__((noinline)) void nothing_is_there(unsigned ring, uint64_t batch) {
  submit(ring, 500, batch);
  sleep_ms(200);
  push(0, 5, GONE, CONTROL, 1);
  wait_idle();
}

/* Uses unbound memory, a destroyed VM, and a closed file: their batches cannot be read. */
__attribute__((noinline)) void gone(void) {
  struct fake_gpu_gone vm = {.vm = OTHER_VM};
  struct fake_gpu_create_queue create = {OTHER_VM, 0};
  unsigned queue = queues[0];
  uint8_t* there = more_memory();
  put_kernel((uint32_t*)there, GONE);

  bind(REBOUND_AT, 0, there, REBOUND_BYTES);
  bind(REBOUND_AT, 0, NULL, 0x1000); /* unbinds a part of the larger binding */
  nothing_is_there(0, REBOUND_AT);

  bind(OBJECT_AT, OBJECT, NULL, OBJECT_BYTES);
  bind(0, OBJECT, NULL, 0); /* unbinds the object at all addresses */
  nothing_is_there(0, OBJECT_AT + 0x2000);

  call("queue", FAKE_GPU_CREATE_QUEUE, &create);
  queues[0] = create.queue;
  struct fake_gpu_bind other = {OTHER_VM, 0, REBOUND_AT, (uint64_t)there, REBOUND_BYTES};
  call("bind", FAKE_GPU_BIND, &other);
  call("destroy", FAKE_GPU_GONE, &vm);
  nothing_is_there(0, REBOUND_AT);

  int first = gpu;
  for (int i = 0; i < 8; ++i) { /* a new file may get the kernel memory of a closed one */
    gpu = open(getenv("FAKE_GPU"), O_RDWR | O_CLOEXEC);
    create.vm = OTHER_VM;
    call("queue", FAKE_GPU_CREATE_QUEUE, &create);
    queues[0] = create.queue;
    if (i < 7) {
      call("bind", FAKE_GPU_BIND, &other);
      close(gpu);
    }
  }
  nothing_is_there(0, REBOUND_AT);
  close(gpu);
  gpu = first;
  queues[0] = queue;
}

__attribute__((noinline)) void first_untimed(void) {
  submit(0, 0, MEMORY_AT + 0x34000);
}

__attribute__((noinline)) void second_untimed(void) {
  submit(0, 0, MEMORY_AT + 0x35000);
}

/* Linux's scheduler ends these jobs at once. Their samples come later, also after the next job of the queue. The last
 * samples come long after the end of the queue, so they are of no job. */
__attribute__((noinline)) void without_fence(void) {
  no_fence = FAKE_GPU_NO_FENCE;
  put_kernel(words(0x34000), UNTIMED);
  put_kernel(words(0x35000), UNTIMED + 0x20000);
  first_untimed();
  sleep_ms(700);
  push(0, 20, UNTIMED + 0x10, SEND, 1);
  sleep_ms(400);
  second_untimed();
  sleep_ms(400);
  push(0, 30, UNTIMED + 0x20018, SEND, 1);
  push(0, 7, UNTIMED + 0x10, SYNC, 1);
  sleep_ms(400);
  struct fake_gpu_create_queue create = {VM, 0};
  struct fake_gpu_gone gone = {.queue = queues[0]};
  call("destroy a queue", FAKE_GPU_GONE, &gone);
  call("queue", FAKE_GPU_CREATE_QUEUE, &create);
  queues[0] = create.queue;
  sleep_ms(1500);
  push(0, 9, UNTIMED + 0x20018, SEND, 1);
  sleep_ms(400);
  no_fence = 0;
}

static void bind_all(struct fake_gpu_bind_op* ops, unsigned count) {
  struct fake_gpu_binds wanted = {VM, count, (uint64_t)ops};
  call("binds", FAKE_GPU_BINDS, &wanted);
}

/* Inlined, so that the caller is the innermost function above submit(). */
static inline __attribute__((always_inline)) void sample(uint64_t kernel, uint64_t batch, unsigned count) {
  submit(0, 500, batch);
  sleep_ms(200);
  push(0, count, kernel, SEND, 1);
  wait_idle();
}

/* Binds two ranges in one call. The batch begins in the last dwords of the first one, and goes on in the second one. */
__attribute__((noinline)) void listed(void) {
  uint8_t* first = more_memory();
  uint8_t* second = more_memory();
  uint32_t whole[256] = {0};
  struct fake_gpu_bind_op ops[2] = {
      {.memory = (uint64_t)first, .bytes = 0x1000, .address = LISTED_AT, .op = 2},
      {.memory = (uint64_t)second, .bytes = 0x1000, .address = LISTED_AT + 0x1000, .op = 2}};
  put_kernel(whole, LISTED);
  memcpy(first + 0x1000 - 40 * 4, whole, 40 * 4);
  memcpy(second, whole + 40, sizeof(whole) - 40 * 4);
  bind_all(ops, 2);
  sample(LISTED, LISTED_AT + 0x1000 - 40 * 4, 11);
}

/* Binds no memory over the batch of listed(). */
__attribute__((noinline)) void nulled(void) {
  struct fake_gpu_bind_op op = {.bytes = 0x2000, .address = LISTED_AT, .flags = FAKE_GPU_NOTHING};
  bind_all(&op, 1);
  sample(GONE, LISTED_AT + 0x1000 - 40 * 4, 5);
}

/* The batch of a video engine is not read, because such an engine runs no kernels. */
__attribute__((noinline)) void video(void) {
  struct fake_gpu_create_queue create = {VM, 2u << 16};
  unsigned queue = queues[0];
  call("queue", FAKE_GPU_CREATE_QUEUE, &create);
  queues[0] = create.queue;
  put_kernel(words(0x34000), GONE);
  nothing_is_there(0, MEMORY_AT + 0x34000);
  queues[0] = queue;
}

/* Makes GPU addresses equal to the process's addresses. */
__attribute__((noinline)) void mirrored(void) {
  uint8_t* there = more_memory();
  struct fake_gpu_bind_op op = {.bytes = REBOUND_BYTES, .address = (uint64_t)there, .flags = FAKE_GPU_MIRROR};
  put_kernel((uint32_t*)there, MIRRORED);
  bind_all(&op, 1);
  sample(MIRRORED, (uint64_t)there, 12);
}

/* The recorder reads the samples only after the job has ended for long. */
__attribute__((noinline)) void read_late(void) {
  sleep_ms(300);
  put_kernel(words(0x34000), READ_LATE);
  submit(0, 400, MEMORY_AT + 0x34000);
  sleep_ms(200);
  kill(getppid(), SIGSTOP);
  push(0, 13, READ_LATE, SEND, 1);
  wait_idle();
  sleep_ms(300);
  kill(getppid(), SIGCONT);
  sleep_ms(200);
}

/* Submits batches that jump to themselves, call themselves, hold random bytes, or lie at unbound addresses. Then
 * binds memory to all addresses. gpuprof must record these jobs like others. */
__attribute__((noinline)) void hostile(void) {
  put_jump(words(0x30000), MEMORY_AT + 0x30000);
  put_jump(words(0x31000), MEMORY_AT + 0x31000);
  *words(0x31000) |= 1u << 22;
  for (unsigned i = 0; i < 0x1000; ++i) {
    memory[0x32000 + i] = (uint8_t)(i * 167 + 13);
  }
  put_jump(words(0x33000), ~0ull);
  for (unsigned i = 0; i < 4; ++i) {
    submit(0, 1, MEMORY_AT + 0x30000 + i * 0x1000);
  }
  submit(0, 1, 0xdead000);
  submit(0, 1, ~0ull);
  bind(0, 0, memory, ~0ull);
  submit(0, 1, 0x7fffffffffff);
  bind(~0ull, 0, NULL, ~0ull);
  submit(0, 1, 0);
  static struct fake_gpu_bind_op many[65]; /* gpuprof reads at most 64 */
  bind_all(many, 65);
  wait_idle();
  wait_idle(); /* as a program does that submits its work without the driver */
}

int main(void) {
  gpu = open(getenv("FAKE_GPU"), O_RDWR | O_CLOEXEC);
  memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (gpu < 0 || memory == MAP_FAILED) {
    perror(getenv("FAKE_GPU"));
    return 1;
  }
  memset(memory, 0, MEMORY_BYTES);
  for (unsigned ring = 0; ring < FAKE_GPU_RINGS; ++ring) {
    struct fake_gpu_create_queue create = {VM, 0};
    call("queue", FAKE_GPU_CREATE_QUEUE, &create);
    queues[ring] = create.queue;
  }
  bind(MEMORY_AT, 0, memory, MEMORY_BYTES);
  write_chain(0, CHAINED);
  chained();
  late();
  twice();
  in_object();
  sleep_ms(3000); /* long enough for samples of the kernel that reused() replaces to be attributed */
  reused();
  rebound();
  mapped_again();
  drivers_own();
  gone();
  many_late();
  listed();
  nulled();
  video();
  mirrored();
  read_late();
  without_fence();
  hostile();
  return 0;
}
