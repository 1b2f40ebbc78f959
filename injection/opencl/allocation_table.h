// Tracks the target's memory objects and shared virtual memory, so that frees can be reported with their sizes.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"

namespace gpuprof::injection::opencl {

struct Memory {
  const void* handle;  // cl_mem, or start of shared virtual memory
  uint64_t bytes;
  uint64_t released;    // correlation id of the call that released the last user reference; 0: none, or not recorded
  uint32_t device;      // UINT32_MAX: not tied to one device
  uint32_t tid;         // thread of the call `released`
  uint32_t references;  // user references of a memory object
  bool tells;           // the driver will call on_destroy() for this object
  Memory* next;         // used by the table
};

// Stores a copy; counts a loss if this fails.
void add_memory(const Memory& memory);

// Removes an entry, which the caller frees or puts back. Null: unknown.
Memory* take_memory(const void* handle);
void put_back(Memory* memory);

void set_released(const void* handle, uint64_t correlation, uint32_t tid);

enum class Reference {
  unknown,     // not allocated through the layer
  held,        // the user has other references
  last,        // the user's last reference was released; the driver will report the destruction
  last_silent  // it was the user's last reference; the driver does not report the destruction
};
void retain_memory(const void* handle);
Reference release_memory(const void* handle);

// Calls `report` for each object whose last user reference was released but whose destruction the driver has not yet
// reported, and removes it.
void for_each_released(void (*report)(const Memory&));

// Forgets the parent's memory in a forked child.
void forget_memory();

}  // namespace gpuprof::injection::opencl
