// Tests which CUDA functions are launches, waits or allocations, by the names that CUPTI reports.
#include "cupti/calls.h"

#include "catch.h"
#include "cupti/session.h"

namespace gpuprof::injection::cupti {
Session the_session;
}  // namespace gpuprof::injection::cupti

using gpuprof::injection::cupti::CallKind;
using gpuprof::injection::cupti::has_size;
using gpuprof::injection::cupti::is_launch;
using gpuprof::injection::cupti::is_sync;
using gpuprof::injection::cupti::kind_of_name;

TEST_CASE("functions that put work on a GPU are launches") {
  for (const char* name : {"cuLaunch",
                           "cuLaunchGridAsync",
                           "cuLaunchKernel",
                           "cuLaunchKernel_ptsz",
                           "cuLaunchKernelEx",
                           "cuLaunchKernelEx_ptsz",
                           "cuLaunchCooperativeKernel",
                           "cuLaunchCooperativeKernel_ptsz",
                           "cuGraphLaunch",
                           "cuGraphLaunch_ptsz",
                           "cuMemcpy",
                           "cuMemcpyHtoD_v2",
                           "cuMemcpyHtoD_v2_ptds",
                           "cuMemcpy2DUnaligned_v2",
                           "cuMemcpyPeerAsync",
                           "cuMemcpy3DPeerAsync_ptsz",
                           "cuMemsetD8_v2",
                           "cuMemsetD2D32Async_ptsz",
                           "cudaLaunch_v3020",
                           "cudaLaunchKernel_v7000",
                           "__cudaLaunchKernel_v13000",
                           "cudaLaunchKernelExC_v11060",
                           "cudaLaunchCooperativeKernel_v9000",
                           "cudaGraphLaunch_v10000",
                           "cudaMemcpyAsync_v3020",
                           "cudaMemsetAsync_v3020"}) {
    INFO(name);
    CHECK(is_launch(kind_of_name(name)));
    CHECK(kind_of_name(name) != CallKind::several);
  }
  for (const char* name : {"cuGraphLaunch", "cuGraphLaunch_ptsz", "cudaGraphLaunch_v10000"}) {
    INFO(name);
    CHECK(kind_of_name(name) == CallKind::launches_graph);
  }
  for (const char* name : {"cuLaunchCooperativeKernelMultiDevice", "cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2_ptsz",
                           "cuMemcpy3DBatchAsync_v2", "cudaMemcpyBatchAsync_v13000"}) {
    INFO(name);
    CHECK(kind_of_name(name) == CallKind::several);
  }
}

TEST_CASE("waits, allocations, releases and graph copies are recognized") {
  for (const char* name : {"cuCtxSynchronize", "cuCtxSynchronize_v2", "cuStreamSynchronize", "cuStreamSynchronize_ptsz",
                           "cuEventSynchronize", "cudaDeviceSynchronize_v3020", "cudaStreamSynchronize_ptsz_v7000"}) {
    INFO(name);
    CHECK(is_sync(kind_of_name(name)));
  }
  CHECK(kind_of_name("cuStreamSynchronize_ptsz") == CallKind::sync_stream);
  CHECK(kind_of_name("cudaDeviceSynchronize_v3020") == CallKind::sync_all);
  for (const char* name :
       {"cuMemAlloc_v2", "cuMemAllocPitch_v2", "cuMemAllocManaged", "cuMemAllocAsync_ptsz", "cuMemAllocFromPoolAsync",
        "cuMemHostAlloc_v2", "cuMemAllocHost_v2", "cuMemFree_v2", "cuMemFreeAsync", "cuMemFreeHost", "cudaMalloc_v3020",
        "cudaFree_v3020", "cudaHostAlloc_v3020"}) {
    INFO(name);
    CHECK(kind_of_name(name) == CallKind::memory);
  }
  for (const char* name :
       {"cuGraphInstantiate", "cuGraphInstantiateWithFlags", "cuGraphClone", "cudaGraphClone_v10000"}) {
    INFO(name);
    CHECK(kind_of_name(name) == CallKind::copies_graph);
  }
}

TEST_CASE("functions that do none of these are ignored") {
  for (const char* name :
       {"", "cu", "cuInit", "cuLaunchHostFunc", "cuLaunchHostFunc_ptsz", "cuMemGetInfo_v2", "cuMemHostGetDevicePointer",
        "cuMemPrefetchAsync_v2", "cuMemAdvise", "cuStreamWaitEvent", "cuEventRecord", "cuGraphAddMemcpyNode",
        "cuGraphCreate", "cudaGetDevice_v3020", "cuStreamQuery"}) {
    INFO(name);
    CHECK(kind_of_name(name) == CallKind::other);
  }
}

TEST_CASE("kernel launches have a kernel name, copies and fills have none") {
  for (const char* name : {"cuLaunchKernel", "cuLaunchKernelEx_ptsz", "cuLaunchCooperativeKernel", "cudaLaunch_v3020",
                           "__cudaLaunchKernel_v13000"}) {
    INFO(name);
    CHECK(kind_of_name(name) == CallKind::launches_kernel);
  }
  CHECK(kind_of_name("cuMemcpyHtoD_v2") == CallKind::launch);
}

TEST_CASE("functions that unload GPU code are recognized") {
  CHECK(kind_of_name("cuModuleUnload") == CallKind::unloads_code);
  for (const char* name :
       {"cuLibraryUnload", "cuCtxDestroy_v2", "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxReset_v2"}) {
    INFO(name);
    CHECK(kind_of_name(name) == CallKind::drops_code);
  }
}

TEST_CASE("functions that load code or start a context are recognized") {
  for (const char* name : {"cuModuleLoad", "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary",
                           "cuLibraryLoadData", "cuLibraryLoadFromFile", "cuLinkCreate_v2", "cuLinkAddData_v2",
                           "cuLinkComplete", "cudaLibraryLoadData_v12080"}) {
    INFO(name);
    CHECK(kind_of_name(name) == CallKind::loads_code);
  }
  for (const char* name : {"cuModuleGetFunction", "cuLibraryGetKernel", "cuKernelGetFunction", "cuFuncLoad"}) {
    INFO(name);
    CHECK(kind_of_name(name) == CallKind::finds_code);
  }
  for (const char* name : {"cuCtxCreate_v4", "cuDevicePrimaryCtxRetain", "cuGreenCtxCreate"}) {
    INFO(name);
    CHECK(kind_of_name(name) == CallKind::starts);
  }
}

TEST_CASE("every call is timed that loads code, starts a context, allocates or instantiates a graph") {
  for (const char* name : {"cuModuleLoadData", "cuLinkComplete", "cuDevicePrimaryCtxRetain", "cuMemAlloc_v2",
                           "cuMemFree_v2", "cuMemHostRegister_v2", "cuMemCreate", "cuGraphInstantiateWithFlags"}) {
    INFO(name);
    CHECK(is_slow(kind_of_name(name)));
  }
  for (const char* name : {"cuLaunchKernel", "cuModuleGetFunction", "cuModuleUnload", "cuGraphUpload",
                           "cuStreamSynchronize", "cuMemcpyHtoD_v2", "cuCtxDestroy_v2"}) {
    INFO(name);
    CHECK_FALSE(is_slow(kind_of_name(name)));
  }
}

TEST_CASE("functions that begin or end a stream capture are recognized") {
  for (const char* name :
       {"cuStreamBeginCapture_v2_ptsz", "cuStreamBeginCaptureToGraph", "cudaStreamBeginCapture_v10000"}) {
    INFO(name);
    CHECK(kind_of_name(name) == CallKind::begins_capture);
  }
  CHECK(kind_of_name("cuStreamEndCapture_ptsz") == CallKind::ends_capture);
  CHECK(kind_of_name("cuStreamGetCaptureInfo_v2") == CallKind::other);
}

TEST_CASE("functions that set the kernel of a graph node are recognized") {
  CHECK(kind_of_name("cuGraphAddKernelNode_v2") == CallKind::adds_kernel_node);
  CHECK(kind_of_name("cuGraphAddNode") == CallKind::adds_node);
  CHECK(kind_of_name("cuGraphKernelNodeSetParams_v2") == CallKind::sets_kernel_node);
  CHECK(kind_of_name("cuGraphNodeSetParams") == CallKind::sets_node);
  CHECK(kind_of_name("cuGraphExecKernelNodeSetParams_v2") == CallKind::sets_exec_kernel_node);
  CHECK(kind_of_name("cuGraphExecNodeSetParams") == CallKind::sets_exec_node);
  CHECK(kind_of_name("cuGraphExecUpdate_v2") == CallKind::updates_graph);
  CHECK(kind_of_name("cuGraphConditionalHandleCreate") == CallKind::makes_condition);
}

TEST_CASE("copies and fills with a size as their third argument are known by name") {
  for (const char* name :
       {"cuMemcpyHtoD_v2", "cuMemcpyDtoHAsync_v2_ptsz", "cuMemcpyDtoDAsync_v2", "cuMemsetD32Async", "cuMemsetD8_v2",
        "cuMemcpy", "cuMemcpy_ptds", "cuMemcpyAsync", "cudaMemcpyAsync_v3020", "cudaMemset_v3020"}) {
    INFO(name);
    CHECK(has_size(name));
  }
  for (const char* name : {"cuMemcpyDtoH", "cuMemsetD8", "cuMemcpy2D_v2", "cuMemcpy3DAsync_v2", "cuMemcpyPeer",
                           "cuMemcpyHtoA_v2", "cuMemsetD2D8_v2", "cudaMemcpy2DAsync_v3020", "cudaMemcpyToSymbol_v3020",
                           "cudaMemset2D_v3020", "cuMemcpyBatchAsync"}) {
    INFO(name);
    CHECK_FALSE(has_size(name));
  }
}
