// The memory objects and shared virtual memory that the target holds now: what a free gives back.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"

namespace gpuprof::injection::opencl {

struct Memory {
  const void* handle;  // cl_mem, or where shared virtual memory begins
  uint64_t bytes;
  uint64_t released;    // correlation id of the call that gave up the user's last reference; 0: none, or not recorded
  uint32_t device;      // UINT32_MAX: not of one device
  uint32_t tid;         // of the call `released`
  uint32_t references;  // the user's, of a memory object
  bool tells;           // the driver calls us when the memory object goes away
  Memory* next;         // the table's
};

// One that was just allocated; a copy is kept. Where that can not be, it is counted.
void add_memory(const Memory& memory);

// Out of the table, and now the caller's to free() or to put back; null: not known.
Memory* take_memory(const void* handle);
void put_back(Memory* memory);

void set_released(const void* handle, uint64_t correlation, uint32_t tid);

enum class Reference {
  unknown,     // of nothing that was allocated through the layer
  held,        // the user has others
  last,        // it was the user's last one, and the driver tells when the object goes away
  last_silent  // the same, and the driver does not
};
void retain_memory(const void* handle);
Reference release_memory(const void* handle);

// In a forked child: what the parent holds is the parent's.
void forget_memory();

}  // namespace gpuprof::injection::opencl
