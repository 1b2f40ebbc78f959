// The part of NCCL's C API that the ranks use, with its documented signatures and values. The library is loaded at run
// time. So the program can be built without it, and can start without it.
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ranks_job.h"

using NcclComm = void*;
using NcclResult = int;  // 0 is success
struct NcclUniqueId {
  char bytes[128];
};
constexpr int kNcclFloat = 7;
constexpr int kNcclSum = 0;

struct Nccl {
  NcclResult (*get_unique_id)(NcclUniqueId*) = nullptr;
  NcclResult (*comm_init_rank)(NcclComm*, int ranks, NcclUniqueId, int rank) = nullptr;
  NcclResult (*all_reduce)(const void* from, void* to, size_t count, int type, int op, NcclComm,
                           cudaStream_t) = nullptr;
  NcclResult (*comm_destroy)(NcclComm) = nullptr;
  const char* (*error_string)(NcclResult) = nullptr;

  void check(NcclResult result, const char* what) const {
    if (result != 0) {
      std::fprintf(stderr, "%s: %s\n", what, error_string(result));
      std::exit(1);
    }
  }
};

template <typename Function>
void find_nccl(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    std::fprintf(stderr, "NCCL has no %s: %s\n", name, dlerror());
    std::exit(kNotHere);
  }
}

inline Nccl load_nccl(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr,
                 "cannot load NCCL: %s\nhint: name it with --nccl FILE, or set LD_LIBRARY_PATH. PyTorch installs it as "
                 "site-packages/nvidia/nccl/lib/libnccl.so.2\n",
                 dlerror());
    std::exit(kNotHere);
  }
  Nccl nccl;
  find_nccl(library, "ncclGetUniqueId", nccl.get_unique_id);
  find_nccl(library, "ncclCommInitRank", nccl.comm_init_rank);
  find_nccl(library, "ncclAllReduce", nccl.all_reduce);
  find_nccl(library, "ncclCommDestroy", nccl.comm_destroy);
  find_nccl(library, "ncclGetErrorString", nccl.error_string);
  return nccl;
}
