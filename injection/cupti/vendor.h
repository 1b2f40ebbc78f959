// CUPTI as one of the vendors' interfaces.
#pragma once

#include "runtime/vendor.h"

namespace gpuprof::injection::cupti {

extern const Vendor kVendor;

}  // namespace gpuprof::injection::cupti
