#include "cupti/sampling/sampled_code.h"

#include "cupti/counting/sass_counting.h"
#include "cupti/sampling/pc_sampling.h"
#include "cupti/session.h"
#include "runtime/code_store.h"

namespace gpuprof::injection::cupti {
namespace {

void keep_module(const CUpti_ModuleResourceData& module) {
  CUpti_GetCubinCrcParams params = {sizeof(params), module.cubinSize, module.pCubin, 0};
  if (module.pCubin != nullptr && module.cubinSize != 0 && session().api.sampling.cubin_crc(&params) == CUPTI_SUCCESS) {
    store_code(GPUPROF_CODE_CUBIN, params.cubinCrc, module.pCubin, module.cubinSize);
  }
}

}  // namespace

constexpr EventHandlers kSampledCode = {
    .is_on = [] { return sampling() || counting(); },
    .begin =
        [](bool again) {
          if (!again) {
            forget_code();
          }
        },
    .flush = send_stored_code,
    .end = [](bool /*hurry*/) { send_stored_code(); },
    .module_loaded = keep_module,
};

}  // namespace gpuprof::injection::cupti
