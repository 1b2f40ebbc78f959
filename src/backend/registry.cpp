#include "backend/backend.h"
#include "backend/cupti/cupti_backend.h"
#ifdef GPUPROF_HAVE_OPENCL
#include "backend/opencl/opencl_backend.h"
#endif

namespace gpuprof::backend {

std::vector<std::unique_ptr<Backend>> make_all() {
  std::vector<std::unique_ptr<Backend>> all;
  all.push_back(make_cupti());
#ifdef GPUPROF_HAVE_OPENCL
  all.push_back(make_opencl());
#endif
  return all;
}

}  // namespace gpuprof::backend
