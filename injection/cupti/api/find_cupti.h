// Finds the libcupti that belongs to the CUDA of this process. Two copies of CUPTI in one process do not work
// together, and one of another major version does not know the runtime's calls, so the order of the search matters.
#pragma once

#include <climits>

namespace gpuprof::injection::cupti {

struct Library {
  void* handle = nullptr;  // of dlopen; null when nothing was found
  char path[PATH_MAX] = {};
};

// Order: a libcupti that is mapped already; GPUPROF_CUPTI_PATH (files or folders, ':' between); the folders of mapped
// CUDA libraries and of the Python packages that they come from; the dynamic loader's path; CUDA toolkits; Python
// environments. `driver_version` is cuDriverGetVersion's, 0 when not known.
Library find_cupti(int driver_version);

}  // namespace gpuprof::injection::cupti
