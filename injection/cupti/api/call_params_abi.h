// Arguments of driver functions as CUPTI passes them to callbacks (CUpti_CallbackData::functionParams). Functions with
// the suffix _ptsz have the same arguments. abi_check.cpp compares them with NVIDIA's generated_cuda_meta.h.
#pragma once

#include "cupti/api/cuda_abi.h"

namespace gpuprof::injection::cupti {

// The arguments of all copies and fills whose third argument is the number of bytes or elements: cuMemcpyHtoD_v2,
// cuMemsetD32Async, cudaMemcpyAsync ...
struct SizedParams {
  uint64_t first;
  uint64_t second;
  size_t size;
};

struct cuLaunchKernel_params {
  CUfunction f;
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  void** kernelParams;
  void** extra;
};

struct cuLaunchKernelEx_params {
  const CUlaunchConfig* config;
  CUfunction f;
  void** kernelParams;
  void** extra;
};

struct cuLibraryLoadData_params {
  void* library;
  const void* code;
  CUjit_option* jitOptions;
  void** jitOptionsValues;
  unsigned int numJitOptions;
  CUlibraryOption* libraryOptions;
  void** libraryOptionValues;
  unsigned int numLibraryOptions;
};

// Also the first arguments of cuModuleLoadData and cuModuleLoadFatBinary.
struct cuModuleLoadDataEx_params {
  void* module;
  const void* image;
  unsigned int numOptions;
  CUjit_option* options;
  void** optionValues;
};

struct cuStreamSynchronize_params {
  CUstream hStream;
};

struct cuGraphLaunch_params {
  CUgraphExec hGraph;
  CUstream hStream;
};

struct cuGraphAddKernelNode_params {
  CUgraphNode* phGraphNode;
  CUgraph hGraph;
  const CUgraphNode* dependencies;
  size_t numDependencies;
  const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams;
};

struct cuGraphAddKernelNode_v2_params {
  CUgraphNode* phGraphNode;
  CUgraph hGraph;
  const CUgraphNode* dependencies;
  size_t numDependencies;
  const CUDA_KERNEL_NODE_PARAMS_v2* nodeParams;
};

struct cuGraphAddNode_params {
  CUgraphNode* phGraphNode;
  CUgraph hGraph;
  const CUgraphNode* dependencies;
  size_t numDependencies;
  CUgraphNodeParams* nodeParams;
};

struct cuGraphAddNode_v2_params {
  CUgraphNode* phGraphNode;
  CUgraph hGraph;
  const CUgraphNode* dependencies;
  const CUgraphEdgeData* dependencyData;
  size_t numDependencies;
  CUgraphNodeParams* nodeParams;
};

struct cuGraphKernelNodeSetParams_params {
  CUgraphNode hNode;
  const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams;
};

struct cuGraphKernelNodeSetParams_v2_params {
  CUgraphNode hNode;
  const CUDA_KERNEL_NODE_PARAMS_v2* nodeParams;
};

struct cuGraphNodeSetParams_params {
  CUgraphNode hNode;
  CUgraphNodeParams* nodeParams;
};

struct cuGraphExecKernelNodeSetParams_params {
  CUgraphExec hGraphExec;
  CUgraphNode hNode;
  const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams;
};

struct cuGraphExecKernelNodeSetParams_v2_params {
  CUgraphExec hGraphExec;
  CUgraphNode hNode;
  const CUDA_KERNEL_NODE_PARAMS_v2* nodeParams;
};

struct cuGraphExecNodeSetParams_params {
  CUgraphExec hGraphExec;
  CUgraphNode hNode;
  CUgraphNodeParams* nodeParams;
};

}  // namespace gpuprof::injection::cupti
