/* Submits jobs with known kernels to the fake i915. Their batches are in objects that are mapped in all possible ways.
 * environment: FAKE_GPU, its device node */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "commands.h"
#include "fake_gpu.h"

#define BYTES 0x10000
#define USER                                                                                                         \
  2 /* object numbers; the driver maps objects with odd numbers itself, and an object without memory is mapped by an \
       offset */
#define MAPPED 3
#define BY_OFFSET 4
#define NOT_MAPPED 6
#define AT(object) (0x100000000ull + (object)*0x10000ull) /* GPU address */

static int gpu = -1;

static void call(const char* what, unsigned long command, void* argument) {
  if (ioctl(gpu, command, argument) != 0) {
    perror(what);
    exit(1);
  }
}

__attribute__((noinline)) void submit(unsigned ring, unsigned context, unsigned ms, uint64_t batch) {
  struct fake_gpu_submit job = {ring, 0, ms * 1000000ull, context, 0, batch};
  call("submit", FAKE_GPU_SUBMIT, &job);
  call("wait", FAKE_GPU_WAIT, NULL);
}

static uint8_t* memory_of(int file, off_t offset) {
  void* mapped =
      mmap(NULL, BYTES, PROT_READ | PROT_WRITE, file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, offset);
  if (mapped == MAP_FAILED) {
    perror("mmap");
    exit(1);
  }
  return mapped;
}

static void list(unsigned object, void* memory) {
  struct fake_gpu_bind wanted = {0, object, AT(object), (uint64_t)memory, BYTES};
  call("object", FAKE_GPU_BIND, &wanted);
}

/* The layout of drm_i915_gem_relocation_entry. */
struct relocation {
  uint32_t target;
  uint32_t delta;
  uint64_t offset;
  uint64_t presumed;
  uint32_t domains[2];
};

/* Submits a batch, that holds no valid address: the driver places the
 * objects during the call, and then writes into the batch where it goes on. */
static void relocated(uint8_t* user, uint8_t* mapped) {
  struct relocation relocation = {.target = MAPPED, .delta = 0x3000, .offset = 0x7004};
  struct fake_gpu_relocations relocations = {USER, 1, (uint64_t)&relocation};
  put_jump((uint32_t*)(user + 0x7000), 0xdead0000);
  put_kernel((uint32_t*)(mapped + 0x3000), 0xe000);
  call("relocate", FAKE_GPU_RELOCATE, &relocations);
  submit(0, 1, 20, AT(USER) + 0x7000);
  put_jump((uint32_t*)(user + 0x7000), 0xdead0000);
  submit(1, 1, 20, AT(USER) + 0x7000);
  relocations.count = 0;
  call("relocate", FAKE_GPU_RELOCATE, &relocations);
}

/* The layout of i915_user_extension, followed by its data. */
struct set_vm {
  uint64_t next;
  uint32_t unused[6];
  uint32_t context;
  uint32_t bytes;
  uint64_t parameter;
  uint64_t value;
};

int main(void) {
  gpu = open(getenv("FAKE_GPU"), O_RDWR | O_CLOEXEC);
  if (gpu < 0) {
    perror(getenv("FAKE_GPU"));
    return 1;
  }
  struct set_vm given = {.parameter = 9, .value = 7};
  struct fake_gpu_context first = {1, 0, (uint64_t)&given};
  struct fake_gpu_context second = {2, 7, 0};
  call("context", FAKE_GPU_CONTEXT, &first);
  call("context", FAKE_GPU_CONTEXT, &second);

  uint8_t* user = memory_of(-1, 0);
  uint8_t* mapped = memory_of(-1, 0);
  struct fake_gpu_object object = {BY_OFFSET, 0, 0};
  call("offset", FAKE_GPU_OBJECT, &object);
  uint8_t* by_offset = memory_of(gpu, (off_t)object.offset);
  list(NOT_MAPPED, NULL);
  list(USER, user);
  list(MAPPED, mapped);
  list(BY_OFFSET, NULL);

  put_kernel((uint32_t*)user, 0x8000);
  submit(0, 1, 20, AT(USER));
  submit(1, 2, 20, AT(USER)); /* context 2 has the same VM as context 1 */
  submit(0, 1, 20, AT(USER));
  submit(0, 3, 20, AT(USER)); /* context 3 has another VM */

  /* Jumps from the middle of one object into another. */
  put_jump((uint32_t*)(mapped + 0x1000), AT(USER) + 0x2000);
  put_kernel((uint32_t*)(user + 0x2000), 0x9000);
  submit(1, 1, 20, AT(MAPPED) + 0x1000);

  put_kernel((uint32_t*)(user + 0x3000), 0xb000);
  /* This jump replaces the command that ends the batch. */
  put_jump(put_kernel((uint32_t*)by_offset, 0xa000), AT(USER) + 0x3000);
  submit(0, 1, 20, AT(BY_OFFSET));

  /* Descriptors in another object name the kernels. The second batch uses the base address that the first one set. */
  *(uint32_t*)(mapped + 0x2000) = 0xc000;
  *(uint32_t*)(mapped + 0x2000 + DESCRIPTOR_BYTES) = 0xd000;
  put_older_kernel((uint32_t*)(user + 0x5000), AT(MAPPED) + 0x2000, 0);
  put_older_kernel((uint32_t*)(user + 0x6000), 0, 1);
  submit(0, 1, 20, AT(USER) + 0x5000);
  submit(0, 1, 20, AT(USER) + 0x6000);
  /* No batch of context 3 has set the base address. */
  submit(0, 3, 20, AT(USER) + 0x6000);

  relocated(user, mapped);

  submit(0, 1, 20, AT(NOT_MAPPED));
  put_jump((uint32_t*)(user + 0x4000), AT(NOT_MAPPED));
  submit(0, 1, 20, AT(USER) + 0x4000);
  submit(0, 1, 20, ~0ull);
  return 0;
}
