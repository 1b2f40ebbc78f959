// Records GPU jobs with eBPF, as the drivers in the kernel see them. These are jobs of i915, and of all drivers that
// use the kernel's GPU scheduler (amdgpu, xe, nouveau, panfrost, ...). Loads nothing into the target.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace gpuprof::backend {

std::unique_ptr<Backend> make_drm();

}  // namespace gpuprof::backend
