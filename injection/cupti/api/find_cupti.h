// Finds the libcupti that matches this process's CUDA. The search order matters: two copies of CUPTI in a process do
// not work together, and a CUPTI of another major version does not know the runtime's calls.
#pragma once

#include <climits>

namespace gpuprof::injection::cupti {

struct Library {
  void* handle = nullptr;  // from dlopen; null: not found
  char path[PATH_MAX] = {};
};

// Tries a mapped libcupti, then GPUPROF_CUPTI_PATH (files or folders, separated by ':'). Then tries these for each CUDA
// major version, best version first: folders of mapped CUDA libraries and their Python packages, the loader's path,
// CUDA toolkits, Python environments. `driver_version` is 0 if unknown.
Library find_cupti(int driver_version);

}  // namespace gpuprof::injection::cupti
