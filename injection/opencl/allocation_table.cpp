#include "opencl/allocation_table.h"

#include <cstdlib>

#include "base/atomics.h"
#include "ipc/emit.h"

namespace gpuprof::injection::opencl {
namespace {

constexpr uint32_t kBuckets = 8192;
constexpr uint32_t kLocks = 256;  // so that threads hardly ever meet

Memory* buckets[kBuckets];
uint32_t locks[kLocks];

uint32_t bucket_of(const void* handle) {
  const auto address = reinterpret_cast<uintptr_t>(handle);
  return (address >> 4 ^ address >> 12 ^ address >> 20) % kBuckets;
}

// The lock of a handle's bucket. When it can not be had its holder is off the CPU, and what this call would have
// changed is lost.
class Locked {
 public:
  explicit Locked(const void* handle) : lock_(&locks[bucket_of(handle) % kLocks]), held_(try_lock_bounded(lock_)) {
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

// Call with the lock held: the link that points to the entry, or to null.
Memory** find_link(const void* handle) {
  Memory** link = &buckets[bucket_of(handle)];
  while (*link != nullptr && (*link)->handle != handle) {
    link = &(*link)->next;
  }
  return link;
}

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
  if (!locked) {
    return nullptr;
  }
  Memory** link = find_link(handle);
  Memory* memory = *link;
  if (memory != nullptr) {
    *link = memory->next;
  }
  return memory;
}

void put_back(Memory* memory) {
  const Locked locked(memory->handle);
  if (!locked) {
    free(memory);
    return;
  }
  Memory** link = find_link(memory->handle);
  Memory* gone = *link;  // one with the same handle has gone without our being told
  memory->next = gone == nullptr ? nullptr : gone->next;
  *link = memory;
  free(gone);
}

void set_released(const void* handle, uint64_t correlation, uint32_t tid) {
  const Locked locked(handle);
  if (locked) {
    if (Memory* memory = *find_link(handle); memory != nullptr) {
      memory->released = correlation;
      memory->tid = tid;
    }
  }
}

void retain_memory(const void* handle) {
  const Locked locked(handle);
  if (locked) {
    if (Memory* memory = *find_link(handle); memory != nullptr) {
      ++memory->references;
    }
  }
}

Reference release_memory(const void* handle) {
  const Locked locked(handle);
  Memory* memory = locked ? *find_link(handle) : nullptr;
  if (memory == nullptr || memory->references == 0) {
    return Reference::unknown;
  }
  if (--memory->references != 0) {
    return Reference::held;
  }
  return memory->tells ? Reference::last : Reference::last_silent;
}

void forget_memory() {
  for (Memory*& bucket : buckets) {
    if (bucket != nullptr) {
      bucket = nullptr;  // not freed: a thread of the parent may have been in the middle of a change
    }
  }
  for (uint32_t& lock : locks) {
    unlock(&lock);
  }
}

}  // namespace gpuprof::injection::opencl
