#include "opencl/allocation_table.h"

#include <cstdlib>

#include "base/atomics.h"
#include "base/handle_table.h"
#include "ipc/emit.h"

namespace gpuprof::injection::opencl {
namespace {

constexpr uint32_t kLocks = 256;  // so many that threads rarely wait for each other

constexpr uint32_t kBuckets = 8192;
constinit HandleTable<Memory, kBuckets> table;
uint32_t locks[kLocks];

// The lock of a handle's group of buckets. If its holder does not run for too long, the change is lost.
class Locked {
 public:
  explicit Locked(const void* handle) : Locked(table.bucket_of(handle)) {}
  explicit Locked(uint32_t bucket) : lock_(&locks[bucket % kLocks]), held_(try_lock_bounded(lock_)) {
    if (!held_) {
      lost(GPUPROF_LOSS_DETAIL, 1);
    }
  }
  ~Locked() {
    if (held_) {
      unlock(lock_);
    }
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  explicit operator bool() const { return held_; }

 private:
  uint32_t* lock_;
  bool held_;
};

}  // namespace

void add_memory(const Memory& memory) {
  auto* added = static_cast<Memory*>(malloc(sizeof(Memory)));
  if (added == nullptr) {
    lost(GPUPROF_LOSS_OUT_OF_MEMORY, 1);
    return;
  }
  *added = memory;
  put_back(added);
}

Memory* take_memory(const void* handle) {
  const Locked locked(handle);
  return locked ? table.take(handle) : nullptr;
}

void put_back(Memory* memory) {
  const Locked locked(memory->handle);
  if (!locked) {
    free(memory);
    return;
  }
  free(table.take(memory->handle));  // another object had the same handle and its destruction was not reported
  table.put(memory);
}

void set_released(const void* handle, uint64_t correlation, uint32_t tid) {
  const Locked locked(handle);
  if (locked) {
    if (Memory* memory = table.find(handle); memory != nullptr) {
      memory->released = correlation;
      memory->tid = tid;
    }
  }
}

void retain_memory(const void* handle) {
  const Locked locked(handle);
  if (locked) {
    if (Memory* memory = table.find(handle); memory != nullptr) {
      ++memory->references;
    }
  }
}

Reference release_memory(const void* handle) {
  const Locked locked(handle);
  Memory* memory = locked ? table.find(handle) : nullptr;
  if (memory == nullptr || memory->references == 0) {
    return Reference::unknown;
  }
  if (--memory->references != 0) {
    return Reference::held;
  }
  return memory->tells ? Reference::last : Reference::last_silent;
}

void for_each_released(void (*report)(const Memory&)) {
  const auto take_released = [](uint32_t bucket) -> Memory* {
    const Locked locked(bucket);
    const auto released = [](const Memory& memory) { return memory.tells && memory.references == 0; };
    return locked ? table.take_any_in(bucket, released) : nullptr;
  };
  for (uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
    while (Memory* memory = take_released(bucket)) {
      report(*memory);
      free(memory);
    }
  }
}

void forget_memory() {
  table.forget();
  for (uint32_t& lock : locks) {
    unlock(&lock);
  }
}

}  // namespace gpuprof::injection::opencl
