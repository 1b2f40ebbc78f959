// Level Zero on any driver, through the tracing layer of its loader (injection/level_zero).
#pragma once

#include <memory>

#include "backend/backend.h"

namespace gpuprof::backend {

std::unique_ptr<Backend> make_level_zero();

}  // namespace gpuprof::backend
