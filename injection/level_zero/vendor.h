#pragma once

#include "runtime/vendor.h"

namespace gpuprof::injection::level_zero {

const Vendor& vendor();

}  // namespace gpuprof::injection::level_zero
