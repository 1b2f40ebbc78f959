// Hooks calls whose duration is reported.
#pragma once

#include <cstdint>

#include "base/guard.h"
#include "base/monotonic_clock.h"
#include "level_zero/code/modules.h"
#include "level_zero/tracer.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/work.h"

namespace gpuprof::injection::level_zero {

template <typename Parameters>
using TypedCallback = void(ZE_APICALL*)(Parameters*, ze_result_t, void*, void**);

template <typename Parameters>
void ZE_APICALL no_callback(Parameters* /*call_with*/, ze_result_t /*result*/, void* /*data*/, void** /*call*/) {}

// The stack of the call that ends; 0: none was taken.
inline constinit thread_local uint64_t stack_of_ended_call = 0;

// Hooks the function kFunction with the callbacks kBefore and kAfter, which do not use the call's slot. If kIsSlow,
// every call is reported. Otherwise, only calls that last GPUPROF_LONG_CALL_NS are reported.
template <const char* kFunction, bool kIsSlow, typename Parameters,
          TypedCallback<Parameters> kAfter = no_callback<Parameters>,
          TypedCallback<Parameters> kBefore = no_callback<Parameters>>
struct TimedCall {
  static void ZE_APICALL before(Parameters* call_with, ze_result_t result, void* data, void** call) {
    kBefore(call_with, result, data, call);
    const Guard guard;
    const uint64_t start_ns = guard.entered() && !wants_code_only() && active() ? now_ns() : 0;
    *call = reinterpret_cast<void*>(start_ns);  // NOLINT(performance-no-int-to-ptr): the slot stores 8 bytes
  }

  static void ZE_APICALL after(Parameters* call_with, ze_result_t result, void* data, void** call) {
    const uint64_t end_ns = now_ns();
    const auto start_ns = reinterpret_cast<uint64_t>(*call);
    *call = nullptr;
    report(start_ns, end_ns);
    kAfter(call_with, result, data, call);
    stack_of_ended_call = 0;
  }

  static void report(uint64_t start_ns, uint64_t end_ns) {
    const Guard guard;
    if (guard.entered() && start_ns != 0 && (kIsSlow || end_ns - start_ns >= GPUPROF_LONG_CALL_NS)) {
      stack_of_ended_call = stack_of_host_call();
      host_call(stack_of_ended_call, start_ns, end_ns, kFunction);
    }
  }

  static Hook hook(bool required) {
    constexpr size_t kPrefix = 2;  // "ze"
    return {kFunction + kPrefix, as_callback(before), as_callback(after), required};
  }
};

}  // namespace gpuprof::injection::level_zero
