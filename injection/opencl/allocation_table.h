// Tracks the target's memory objects and shared virtual memory, so that frees can be reported with their sizes.
#pragma once

#include <cstdint>

#include "opencl/dispatch.h"

namespace gpuprof::injection::opencl {

struct Memory {
  const void* handle;  // a cl_mem, or the start address of shared virtual memory
  uint64_t bytes;
  // Correlation id of the call that released the user's last reference; 0: no such call, or it was not recorded.
  uint64_t released;
  uint32_t device;      // UINT32_MAX: the memory is not tied to one device
  uint32_t tid;         // id of the thread that made the call `released`
  uint32_t references;  // references to a memory object that the user holds
  bool tells;           // the driver will call on_destroy() for this object
  Memory* next;
};

// Stores a copy. If this fails, counts a loss.
void add_memory(const Memory& memory);

// Removes an entry, which the caller then frees or puts back. Returns null if the handle is unknown.
Memory* take_memory(const void* handle);
void put_back(Memory* memory);

void set_released(const void* handle, uint64_t correlation, uint32_t tid);

enum class Reference {
  unknown,     // the object was not allocated through the layer
  held,        // the user has other references
  last,        // the call released the user's last reference; the driver will report the destruction
  last_silent  // the call released the user's last reference; the driver will not report the destruction
};
void retain_memory(const void* handle);
Reference release_memory(const void* handle);

// Calls `report` for each object that the user has released but the driver has not yet reported as destroyed, and
// removes it.
void for_each_released(void (*report)(const Memory&));

void forget_memory();

}  // namespace gpuprof::injection::opencl
