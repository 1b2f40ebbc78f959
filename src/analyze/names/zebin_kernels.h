// Finds the kernel of samples whose work item is a batch of kernels. Only Intel's code locations name kernels.
#pragma once

#include <string_view>

#include "profile/tables.h"

namespace gpuprof::analyze {

// True for code of Intel's compiler, or a kernel of the xe driver known only by its address ("kernel at 0x...").
bool in_zebin(const profile::Tables& tables, profile::GpuPlaceId place);

// Returns the kernel of the code location if the name of the sample's work item is less exact; otherwise empty.
std::string_view zebin_kernel(const profile::Tables& tables, profile::GpuPlaceId place);

}  // namespace gpuprof::analyze
