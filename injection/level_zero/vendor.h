#pragma once

#include "runtime/vendor.h"

namespace gpuprof::injection::level_zero {

const Vendor& vendor();

// Of a process that had begun before the fork.
bool in_fork();

}  // namespace gpuprof::injection::level_zero
