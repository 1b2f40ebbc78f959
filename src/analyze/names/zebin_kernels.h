// Samples whose work is a batch of kernels, and whose code says which of them they were taken in: Intel's.
#pragma once

#include <string_view>

#include "profile/tables.h"

namespace gpuprof::analyze {

// Whether the place is in code of Intel's compiler, or in a kernel of the driver xe that has no other name than its
// address.
bool in_zebin(const profile::Tables& tables, profile::GpuPlaceId place);

// The kernel that the place is in, where its code says so better than its work; else empty.
std::string_view zebin_kernel(const profile::Tables& tables, profile::GpuPlaceId place);

}  // namespace gpuprof::analyze
