// Names the kernel of a sample whose work item is a batch of several kernels. Works only for Intel's code locations.
#pragma once

#include <string_view>

#include "profile/tables.h"

namespace gpuprof::analyze {

// True for code of Intel's compiler, and for a kernel of the xe driver whose name is only an address ("kernel at
// 0x...").
bool in_zebin(const profile::Tables& tables, profile::GpuPlaceId place);

// Returns the name of the kernel that contains the code location, if in_zebin() is true for it. Otherwise returns an
// empty text: the caller must use the name of the sample's work item.
std::string_view zebin_kernel(const profile::Tables& tables, profile::GpuPlaceId place);

}  // namespace gpuprof::analyze
