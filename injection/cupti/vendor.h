#pragma once

#include "runtime/vendor.h"

namespace gpuprof::injection::cupti {

const Vendor& vendor();

}  // namespace gpuprof::injection::cupti
