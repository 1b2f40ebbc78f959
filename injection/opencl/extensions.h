// Hooks functions that drivers return by name (clGetExtensionFunctionAddress and ...ForPlatform).
#pragma once

#include <cstring>
#include <initializer_list>

#include "opencl/dispatch.h"

namespace gpuprof::injection::opencl {

// A function that the layer may hook. Its hook calls `*driver`. If `hook` is null, the layer does not know the
// function.
struct Extension {
  const char* function = nullptr;
  void* hook = nullptr;
  void** driver = nullptr;
};

template <typename Function>
Extension extension(const char* function, Function* hook, Function** driver) {
  return {function, reinterpret_cast<void*>(hook), reinterpret_cast<void**>(driver)};
}

inline Extension find_extension(const char* function, std::initializer_list<Extension> among) {
  for (const Extension& known : among) {
    if (strcmp(known.function, function) == 0) {
      return known;
    }
  }
  return {};
}

Extension command_buffer_extension(const char* function);
Extension copy_extension(const char* function);
Extension memory_extension(const char* function);

// Forgets the parent's command buffers in a forked child. If the child enqueues them, their work has no list of
// commands.
void forget_command_buffers();

// If `recording`, counts new calls of unknown functions as lost work. Otherwise, ignores these calls.
void report_unknown_calls(bool recording);

}  // namespace gpuprof::injection::opencl
