// OpenCL on any driver, through a layer of the ICD loader (injection/opencl).
#pragma once

#include <memory>

#include "backend/backend.h"

namespace gpuprof::backend {

std::unique_ptr<Backend> make_opencl();

}  // namespace gpuprof::backend
