// Registers a tracer in the loader's tracing layer: callbacks before and after the traced calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "level_zero/api/api.h"

namespace gpuprof::injection::level_zero {

// Type of all callbacks. Parameters: the call's parameters, its result, user data, and a slot that the prologue and the
// epilogue of the call share.
using Callback = void(ZE_APICALL*)(void*, ze_result_t, void*, void**);

struct Hook {
  const char* call;  // name of the function without "ze"
  Callback before;   // may be null
  Callback after;
  bool required;
};

// Casts a callback to the common type. The tracing layer calls all callbacks alike, because the first parameter is
// always a pointer.
template <typename Parameters>
Callback as_callback(void(ZE_APICALL* callback)(Parameters*, ze_result_t, void*, void**)) {
  return reinterpret_cast<Callback>(callback);
}

// Creates and enables the tracer. If the loader does not support this, calls disable() and returns false.
bool start_tracer(bool attached);

// Disables the tracer when the library detaches. Also disables the tracing layer if start_tracer() enabled it.
void stop_tracer();

template <size_t Count>
void add_hooks(bool (*add)(const Hook& hook), const Hook (&hooks)[Count]) {
  for (const Hook& hook : hooks) {
    add(hook);
  }
}

// Each file in hooks/ and code/ has one of these functions, which registers its callbacks.
void hook_code(bool (*add)(const Hook& hook));
// Call it instead of hook_code(), if nobody wants the code. It only times the calls.
void hook_loads(bool (*add)(const Hook& hook));
void hook_commands(bool (*add)(const Hook& hook));
void hook_memory(bool (*add)(const Hook& hook));
void hook_objects(bool (*add)(const Hook& hook));
void hook_waits(bool (*add)(const Hook& hook));

// Forgets the target's objects. Call it only when no list of the target contains a library event.
void forget_all_objects();

}  // namespace gpuprof::injection::level_zero
