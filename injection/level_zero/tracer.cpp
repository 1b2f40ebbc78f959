#include "level_zero/tracer.h"

#include <cstdio>

#include "runtime/lifecycle.h"

namespace gpuprof::injection::level_zero {
namespace {

zel_tracer_handle_t tracer = nullptr;
const char* missing = nullptr;  // a required callback that the loader does not have
char context = 0;               // tracers must have data of their own

using Register = ze_result_t(ZE_APICALL*)(zel_tracer_handle_t, zel_tracer_reg_t, Callback);

bool add(const Hook& hook) {
  char name[128];
  snprintf(name, sizeof(name), "zelTracer%sRegisterCallback", hook.call);
  const auto add_callback = reinterpret_cast<Register>(find_function(name));
  const bool added =
      add_callback != nullptr &&
      (hook.before == nullptr || add_callback(tracer, ZEL_REGISTER_PROLOGUE, hook.before) == ZE_RESULT_SUCCESS) &&
      (hook.after == nullptr || add_callback(tracer, ZEL_REGISTER_EPILOGUE, hook.after) == ZE_RESULT_SUCCESS);
  if (!added && hook.required) {
    missing = hook.call;
  }
  return added;
}

// Newer loaders can do so in a program that runs already: one that does without ZE_ENABLE_TRACING_LAYER is seen there.
void switch_layer_on() {
  const auto get_state = reinterpret_cast<ze_result_t(ZE_APICALL*)(bool*)>(find_function("zelGetTracingLayerState"));
  const auto enable = reinterpret_cast<ze_result_t(ZE_APICALL*)()>(find_function("zelEnableTracingLayer"));
  bool on = false;
  if (get_state != nullptr && enable != nullptr && get_state(&on) == ZE_RESULT_SUCCESS && !on) {
    enable();
  }
}

}  // namespace

bool start_tracer() {
  switch_layer_on();
  zel_tracer_desc_t description = {};
  description.stype = ZEL_STRUCTURE_TYPE_TRACER_DESC;
  description.pUserData = &context;
  if (api.zelTracerCreate(&description, &tracer) != ZE_RESULT_SUCCESS) {
    disable(
        "the Level Zero loader has no tracing layer: libze_tracing_layer.so.1 must lie beside libze_loader.so.1 (both "
        "are in the package libze1 or level-zero), and the program must leave ZE_ENABLE_TRACING_LAYER=1 as it is");
    return false;
  }
  hook_objects(add);
  hook_commands(add);
  hook_memory(add);
  hook_waits(add);
  if (missing != nullptr) {
    char reason[200];
    snprintf(reason, sizeof(reason), "the Level Zero loader cannot trace ze%s: version 1.8 or later is needed",
             missing);
    disable(reason);
    return false;
  }
  if (api.zelTracerSetEnabled(tracer, 1) != ZE_RESULT_SUCCESS) {
    disable("the Level Zero loader refuses to switch our tracer on");
    return false;
  }
  return true;
}

}  // namespace gpuprof::injection::level_zero
