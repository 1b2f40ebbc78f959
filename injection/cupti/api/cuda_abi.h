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
struct CUmod_st;
struct CUlinkState_st;
struct CUstream_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = CUctx_st*;
using CUfunction = CUfunc_st*;
using CUkernel = CUkern_st*;
using CUmodule = CUmod_st*;
using CUlinkState = CUlinkState_st*;
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

enum CUdevice_attribute : uint32_t {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
};

enum CUfunction_attribute : uint32_t {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9
};

enum CUjit_option : uint32_t {
  CU_JIT_WALL_TIME = 2,
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_JIT_TARGET_FROM_CUCONTEXT = 8,
  CU_JIT_TARGET = 9,
  CU_JIT_LOG_VERBOSE = 12,
  CU_JIT_GENERATE_LINE_INFO = 13,
  CU_JIT_CACHE_MODE = 14
};

enum CUjitInputType : uint32_t { CU_JIT_INPUT_PTX = 1 };

enum CUlibraryOption : uint32_t { CU_LIBRARY_BINARY_IS_PRESERVED = 1 };

enum CUstreamCaptureMode : uint32_t { CU_STREAM_CAPTURE_MODE_RELAXED = 2 };

enum CUlaunchAttributeID : uint32_t { CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4 };

struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[4];
  char value[64];
};

struct CUlaunchConfig {
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned int numAttrs;
};

CUresult cuDriverGetVersion(int* version);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetName(char* name, int length, CUdevice device);
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device);
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device);      // CUDA 11.4
CUresult cuFuncGetName(const char** name, CUfunction function);  // CUDA 12.3
CUresult cuKernelGetName(const char** name, CUkernel kernel);    // CUDA 12.3

// Only for probes (probes/driver.h):
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult cuCtxGetDevice(CUdevice* device);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext* context);
CUresult cuLinkCreate_v2(unsigned int count, CUjit_option* options, void** values, CUlinkState* state);
CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size, const char* name,
                          unsigned int count, CUjit_option* options, void** values);
CUresult cuLinkComplete(CUlinkState state, void** cubin, size_t* size);
CUresult cuLinkDestroy(CUlinkState state);
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name);
CUresult cuFuncGetModule(CUmodule* module, CUfunction function);
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel);
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function);
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size);  // CUDA 12.4
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads, size_t shared);
CUresult cuMemAlloc_v2(CUdeviceptr* memory, size_t bytes);
CUresult cuMemcpyDtoHAsync_v2(void* target, CUdeviceptr source, size_t bytes, CUstream stream);
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode);

}  // namespace gpuprof::injection::cupti
