// Our tracer in the loader's tracing layer: callbacks before and after the calls that we want to know of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "level_zero/api.h"

namespace gpuprof::injection::level_zero {

// A callback, whatever the call that it is for: parameters, result, our data, and what is kept from before to after.
using Callback = void(ZE_APICALL*)(void*, ze_result_t, void*, void**);

struct Hook {
  const char* call;  // without its "ze"
  Callback before;   // null: none
  Callback after;
  bool required;
};

// A Hook's function for a callback of certain parameters. All callbacks are called alike: their first parameter is a
// pointer.
template <typename Parameters>
Callback as_callback(void(ZE_APICALL* callback)(Parameters*, ze_result_t, void*, void**)) {
  return reinterpret_cast<Callback>(callback);
}

// Makes the tracer and switches it on. False, after disable(): the loader does not let us.
bool start_tracer(bool attached);

// Attached no more: switches it off, and the layer where we had switched that on.
void stop_tracer();

template <size_t Count>
void add_hooks(bool (*add)(const Hook& hook), const Hook (&hooks)[Count]) {
  for (const Hook& hook : hooks) {
    add(hook);
  }
}

// The tables of the files that hold the callbacks.
void hook_code(bool (*add)(const Hook& hook));
void hook_commands(bool (*add)(const Hook& hook));
void hook_memory(bool (*add)(const Hook& hook));
void hook_objects(bool (*add)(const Hook& hook));
void hook_waits(bool (*add)(const Hook& hook));

// What was known of the target's objects, none of which has events of ours.
void forget_all_objects();

}  // namespace gpuprof::injection::level_zero
