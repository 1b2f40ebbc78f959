// Names of OpenCL's error codes.
#pragma once

#include <CL/cl.h>

namespace gpuprof::injection::opencl {

// Returns "CL_OUT_OF_RESOURCES". Null: an unknown code, or CL_SUCCESS.
const char* error_name(cl_int status);

}  // namespace gpuprof::injection::opencl
