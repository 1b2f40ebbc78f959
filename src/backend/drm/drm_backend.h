// Jobs of GPUs as their drivers in the kernel see them, by eBPF: of i915, and of any driver that uses the kernel's GPU
// scheduler (amdgpu, xe, nouveau, panfrost, ...). Nothing is brought into the target.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace gpuprof::backend {

std::unique_ptr<Backend> make_drm();

}  // namespace gpuprof::backend
