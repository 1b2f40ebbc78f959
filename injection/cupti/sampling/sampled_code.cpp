#include "cupti/sampling/sampled_code.h"

#include "cupti/session.h"

namespace gpuprof::injection::cupti {

void keep_code(const CUpti_ModuleResourceData& module) {
  CUpti_GetCubinCrcParams params = {sizeof(params), module.cubinSize, module.pCubin, 0};
  if (module.pCubin != nullptr && module.cubinSize != 0 && session().api.sampling.cubin_crc(&params) == CUPTI_SUCCESS) {
    injection::keep_code(GPUPROF_CODE_CUBIN, params.cubinCrc, module.pCubin, module.cubinSize);
  }
}

}  // namespace gpuprof::injection::cupti
