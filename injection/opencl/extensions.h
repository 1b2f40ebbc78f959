// Hooks functions that drivers return by name (clGetExtensionFunctionAddress and ...ForPlatform).
#pragma once

#include <cstring>
#include <initializer_list>

#include "opencl/dispatch.h"

namespace gpuprof::injection::opencl {

// A function that the layer hooks. Its hook calls *driver. Null hook: the layer does not know the function.
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

// Forgets the parent's command buffers in a forked child. Their later enqueues have no list of commands.
void forget_command_buffers();

// Counts new calls of functions that the layer does not know as lost work, if `recording`; otherwise ignores them.
void report_unknown_calls(bool recording);

}  // namespace gpuprof::injection::opencl
