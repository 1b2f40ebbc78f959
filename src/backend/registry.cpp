#include "backend/backend.h"
#include "backend/cupti/cupti_backend.h"
#include "backend/drm/drm_backend.h"
#ifdef GPUPROF_HAVE_LEVEL_ZERO
#include "backend/level_zero/level_zero_backend.h"
#endif
#ifdef GPUPROF_HAVE_OPENCL
#include "backend/opencl/opencl_backend.h"
#endif

namespace gpuprof::backend {

Backends make_all() {
  Backends all;
  all.push_back(make_cupti());
#ifdef GPUPROF_HAVE_OPENCL
  all.push_back(make_opencl());
#endif
#ifdef GPUPROF_HAVE_LEVEL_ZERO
  all.push_back(make_level_zero());
#endif
  all.push_back(make_drm());
  return all;
}

}  // namespace gpuprof::backend
