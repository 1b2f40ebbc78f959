#include "level_zero/tracer.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "level_zero/code/modules.h"
#include "runtime/lifecycle.h"

namespace gpuprof::injection::level_zero {
namespace {

zel_tracer_handle_t tracer = nullptr;
const char* missing = nullptr;  // name of a required callback that the loader lacks
char context = 0;               // user data of the tracer, which the loader requires but gpuprof does not use
bool layer_is_ours = false;     // start_tracer() has enabled the tracing layer
bool stopped = false;

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

// Returns whether the tracing layer is enabled: through the loader, or by the environment when Level Zero was
// initialized.
bool is_on() {
  const auto get_state = reinterpret_cast<ze_result_t(ZE_APICALL*)(bool*)>(find_function("zelGetTracingLayerState"));
  bool on = false;
  if (get_state != nullptr) {
    return get_state(&on) == ZE_RESULT_SUCCESS && on;
  }
  const char* variable = secure_getenv("ZE_ENABLE_TRACING_LAYER");
  return variable != nullptr && strcmp(variable, "1") == 0;
}

// Enables the tracing layer if the program was started without ZE_ENABLE_TRACING_LAYER and the loader is new enough.
// Calls in progress are not traced. Call it only while a tracer exists. Without a tracer, the loader may not have
// loaded the layer, so the layer's table of functions would be empty, and the program's calls would fail.
void switch_layer_on() {
  const auto enable = reinterpret_cast<ze_result_t(ZE_APICALL*)()>(find_function("zelEnableTracingLayer"));
  if (enable != nullptr && !is_on()) {
    layer_is_ours = enable() == ZE_RESULT_SUCCESS;
  }
}

const char* why_no_tracer(bool attached) {
  return attached ? "the Level Zero loader cannot trace this process: it has not initialized Level Zero yet, or "
                    "libze_tracing_layer.so.1 is not in the folder of its libze_loader.so.1"
                  : "the Level Zero loader has no tracing layer: libze_tracing_layer.so.1 must be in the folder of "
                    "libze_loader.so.1 (both are in the package libze1 or level-zero), and the program must not "
                    "change ZE_ENABLE_TRACING_LAYER=1";
}

bool make_tracer(bool attached) {
  zel_tracer_desc_t description = {};
  description.stype = ZEL_STRUCTURE_TYPE_TRACER_DESC;
  description.pUserData = &context;
  if (api.zelTracerCreate(&description, &tracer) != ZE_RESULT_SUCCESS) {
    tracer = nullptr;
    disable(why_no_tracer(attached));
    return false;
  }
  if (wants_code() || attached) {
    hook_code(add);
  } else {
    hook_loads(add);
  }
  if (!wants_code_only()) {
    hook_objects(add);
    hook_commands(add);
    hook_memory(add);
    hook_waits(add);
  }
  if (missing != nullptr) {
    char reason[200];
    snprintf(reason, sizeof(reason), "the Level Zero loader cannot trace ze%s: version 1.8 or later is needed",
             missing);
    disable(reason);
    return false;
  }
  return true;
}

}  // namespace

bool start_tracer(bool attached) {
  if (tracer == nullptr && !make_tracer(attached)) {
    return false;
  }
  switch_layer_on();
  if (stopped) {
    forget_all_objects();  // While the tracer was off, the target may have replaced objects.
    stopped = false;
  }
  if (api.zelTracerSetEnabled(tracer, 1) != ZE_RESULT_SUCCESS) {
    disable("the Level Zero loader refuses to enable gpuprof's tracer");
    return false;
  }
  return true;
}

void stop_tracer() {
  api.zelTracerSetEnabled(tracer, 0);
  stopped = true;
  const auto disable_layer = reinterpret_cast<ze_result_t(ZE_APICALL*)()>(find_function("zelDisableTracingLayer"));
  if (layer_is_ours && disable_layer != nullptr) {
    disable_layer();
    layer_is_ours = false;
  }
}

}  // namespace gpuprof::injection::level_zero
