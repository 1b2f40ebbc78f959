// Registers a tracer in the loader's tracing layer: callbacks before and after the traced calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "level_zero/api.h"

namespace gpuprof::injection::level_zero {

// Common type of all callbacks: parameters, result, user data, and a slot shared by prologue and epilogue.
using Callback = void(ZE_APICALL*)(void*, ze_result_t, void*, void**);

struct Hook {
  const char* call;  // name without "ze"
  Callback before;   // may be null
  Callback after;
  bool required;
};

// Casts a callback. The layer calls all callbacks alike: the first parameter is a pointer.
template <typename Parameters>
Callback as_callback(void(ZE_APICALL* callback)(Parameters*, ze_result_t, void*, void**)) {
  return reinterpret_cast<Callback>(callback);
}

// Creates and enables the tracer. If the loader does not support it, calls disable() and returns false.
bool start_tracer(bool attached);

// Disables the tracer when detaching, and the tracing layer if start_tracer() enabled it.
void stop_tracer();

template <size_t Count>
void add_hooks(bool (*add)(const Hook& hook), const Hook (&hooks)[Count]) {
  for (const Hook& hook : hooks) {
    add(hook);
  }
}

// Register the callbacks of each file in hooks/ and code/.
void hook_code(bool (*add)(const Hook& hook));
void hook_commands(bool (*add)(const Hook& hook));
void hook_memory(bool (*add)(const Hook& hook));
void hook_objects(bool (*add)(const Hook& hook));
void hook_waits(bool (*add)(const Hook& hook));

// Forgets the target's objects. Call it only when no list of the target contains a library event.
void forget_all_objects();

}  // namespace gpuprof::injection::level_zero
