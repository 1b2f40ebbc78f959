// CUDA on NVIDIA GPUs, through a library that libcuda loads into the target (injection/cupti).
#pragma once

#include <memory>

#include "backend/backend.h"

namespace gpuprof::backend {

std::unique_ptr<Backend> make_cupti();

}  // namespace gpuprof::backend
