#include "opencl/memory_table.h"

#include <cstdlib>

#include "common/atomics.h"
#include "common/emit.h"

namespace gpuprof::injection::opencl {
namespace {

constexpr uint32_t kBuckets = 8192;

Memory* buckets[kBuckets];
uint32_t table_lock = 0;

// Its holder is off the CPU when it can not be had: what this call would have changed is lost.
class Locked {
 public:
  Locked() : held_(try_lock_bounded(&table_lock)) {
    if (!held_) {
      lost(GPUPROF_LOSS_DETAIL, 1);
    }
  }
  ~Locked() {
    if (held_) {
      unlock(&table_lock);
    }
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  explicit operator bool() const { return held_; }

 private:
  bool held_;
};

Memory** bucket_of(const void* handle) {
  const auto address = reinterpret_cast<uintptr_t>(handle);
  return &buckets[(address >> 4 ^ address >> 12 ^ address >> 20) % kBuckets];
}

// Call with the lock held: the link that points to the entry, or to null.
Memory** find_link(const void* handle) {
  Memory** link = bucket_of(handle);
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
  const Locked locked;
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
  const Locked locked;
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
  const Locked locked;
  if (locked) {
    if (Memory* memory = *find_link(handle); memory != nullptr) {
      memory->released = correlation;
      memory->tid = tid;
    }
  }
}

void retain_memory(const void* handle) {
  const Locked locked;
  if (locked) {
    if (Memory* memory = *find_link(handle); memory != nullptr) {
      ++memory->references;
    }
  }
}

Reference release_memory(const void* handle) {
  const Locked locked;
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
  unlock(&table_lock);
}

}  // namespace gpuprof::injection::opencl
