#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/probes/ptx_text.h"

namespace gpuprof::injection::cupti {

// Why an image has no PTX that can replace it.
enum class NoPtx : uint8_t {
  none,                // the PTX was found
  unreadable,          // the image is malformed, of an unknown kind, or memory is exhausted
  machine_code_only,   // machine code runs on the device, and the image has no PTX
  other_architecture,  // machine code runs on the device, and the PTX is of another architecture; or no PTX fits
  too_new,             // the driver cannot compile this version of PTX
  has_options,         // the image asks for compiler options that change the machine code
  linked,              // relocatable device code: the PTX is only a part of the program
};

struct FoundPtx {
  PtxText ptx;    // the caller frees it; the text is null unless `why` is NoPtx::none
  uint32_t arch;  // 90 for compute_90
  NoPtx why;
};

// Finds the PTX from whose architecture the driver would make or take the machine code for a device.
// `image` is what a program passes to cuLibraryLoadData or cuModuleLoadData: the wrapper of a fat binary, a fat binary,
// PTX text that ends with NUL, or a cubin. `device_arch` is 90 for sm_90. `driver_version` is the value of
// cuDriverGetVersion (13000 for CUDA 13.0).
FoundPtx find_ptx(const void* image, uint32_t device_arch, int driver_version);

}  // namespace gpuprof::injection::cupti
