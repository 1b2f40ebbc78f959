// Names the kernel of a sample whose work item is a batch of several kernels. Works only for Intel's code locations.
#pragma once

#include <string_view>

#include "profile/tables.h"

namespace gpuprof::analyze {

// True for code of Intel's compiler, or a kernel of the xe driver known only by its address ("kernel at 0x...").
bool in_zebin(const profile::Tables& tables, profile::GpuPlaceId place);

// Returns the kernel's name if in_zebin(), otherwise an empty text. Then use the name of the sample's work item.
std::string_view zebin_kernel(const profile::Tables& tables, profile::GpuPlaceId place);

}  // namespace gpuprof::analyze
