// Declares the part of the CUDA driver's ABI (libcuda.so.1) that gpuprof uses, so that builds do not need NVIDIA's
// headers. Names are NVIDIA's, in gpuprof's namespace. If a build finds the headers, abi_check.cpp compares values,
// offsets and signatures with them. Functions are declared only for their types and looked up at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::injection::cupti {

// If NVIDIA's headers are included too, these names would mean NVIDIA's types without the forward declarations.
struct CUctx_st;
struct CUfunc_st;
struct CUkern_st;
struct CUstream_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
using CUdevice = int;
using CUcontext = CUctx_st*;
using CUfunction = CUfunc_st*;
using CUkernel = CUkern_st*;
using CUstream = CUstream_st*;
using CUgraph = CUgraph_st*;
using CUgraphNode = CUgraphNode_st*;
using CUgraphExec = CUgraphExec_st*;

// All enumerations have a fixed underlying type, because a newer driver may use values that are not declared here.
enum CUresult : uint32_t { CUDA_SUCCESS = 0 };

struct CUuuid {
  char bytes[16];
};

enum CUgraphNodeType : uint32_t {
  CU_GRAPH_NODE_TYPE_KERNEL = 0,
  CU_GRAPH_NODE_TYPE_MEMCPY = 1,
  CU_GRAPH_NODE_TYPE_MEMSET = 2,
  CU_GRAPH_NODE_TYPE_HOST = 3,
  CU_GRAPH_NODE_TYPE_GRAPH = 4,
  CU_GRAPH_NODE_TYPE_EMPTY = 5,
  CU_GRAPH_NODE_TYPE_WAIT_EVENT = 6,
  CU_GRAPH_NODE_TYPE_EVENT_RECORD = 7,
  CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL = 8,
  CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT = 9,
  CU_GRAPH_NODE_TYPE_MEM_ALLOC = 10,
  CU_GRAPH_NODE_TYPE_MEM_FREE = 11,
  CU_GRAPH_NODE_TYPE_BATCH_MEM_OP = 12,
  CU_GRAPH_NODE_TYPE_CONDITIONAL = 13
};

// CUDA 10 and 11 use this version, and so do functions without a version suffix.
struct CUDA_KERNEL_NODE_PARAMS_v1 {
  CUfunction func;
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  void** kernelParams;
  void** extra;
};

// Since CUDA 12. If `func` is null, `kern` is the kernel.
struct CUDA_KERNEL_NODE_PARAMS_v2 {
  CUfunction func;
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  void** kernelParams;
  void** extra;
  CUkernel kern;
  CUcontext ctx;
};

// Since CUDA 12.2. Declares only the kernel part: `kernel` is valid if `type` is CU_GRAPH_NODE_TYPE_KERNEL.
struct CUgraphNodeParams {
  CUgraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    CUDA_KERNEL_NODE_PARAMS_v2 kernel;
  };
  long long reserved2;
};

struct CUgraphEdgeData;

CUresult cuDriverGetVersion(int* version);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetName(char* name, int length, CUdevice device);
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device);
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device);      // CUDA 11.4
CUresult cuFuncGetName(const char** name, CUfunction function);  // CUDA 12.3
CUresult cuKernelGetName(const char** name, CUkernel kernel);    // CUDA 12.3

}  // namespace gpuprof::injection::cupti
