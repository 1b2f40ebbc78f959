#include "cupti/calls.h"

#include <cstring>

#include "cupti/api/call_params_abi.h"
#include "cupti/session.h"
#include "wire/cuda_launches.h"

namespace gpuprof::injection::cupti {
namespace {

struct Beginning {
  const char* text;  // beginning of a function's name, without the prefix "cu" or "cuda"
  CallKind kind;
};

// Calls that are not launches. The first matching entry is used.
constexpr Beginning kBeginnings[] = {{"ModuleLoad", CallKind::loads_code},
                                     {"LibraryLoad", CallKind::loads_code},
                                     {"Link", CallKind::loads_code},
                                     {"ModuleGet", CallKind::finds_code},
                                     {"LibraryGet", CallKind::finds_code},
                                     {"KernelGetFunction", CallKind::finds_code},
                                     {"FuncLoad", CallKind::finds_code},
                                     {"CtxCreate", CallKind::starts},
                                     {"DevicePrimaryCtxRetain", CallKind::starts},
                                     {"GreenCtxCreate", CallKind::starts},
                                     {"InitDevice", CallKind::starts},
                                     {"ModuleUnload", CallKind::unloads_code},
                                     {"LibraryUnload", CallKind::drops_code},
                                     {"CtxDestroy", CallKind::drops_code},
                                     {"DevicePrimaryCtxRelease", CallKind::drops_code},
                                     {"DevicePrimaryCtxReset", CallKind::drops_code},
                                     {"StreamBeginCapture", CallKind::begins_capture},
                                     {"StreamBeginRecapture", CallKind::begins_capture},
                                     {"StreamEndCapture", CallKind::ends_capture},
                                     {"GraphInstantiate", CallKind::copies_graph},
                                     {"GraphClone", CallKind::copies_graph},
                                     {"GraphExecUpdate", CallKind::updates_graph},
                                     {"GraphUpload", CallKind::uploads_graph},
                                     {"GraphConditionalHandleCreate", CallKind::makes_condition},
                                     {"GraphAddKernelNode", CallKind::adds_kernel_node},
                                     {"GraphAddNode", CallKind::adds_node},
                                     {"GraphKernelNodeSetParams", CallKind::sets_kernel_node},
                                     {"GraphNodeSetParams", CallKind::sets_node},
                                     {"GraphExecKernelNodeSetParams", CallKind::sets_exec_kernel_node},
                                     {"GraphExecNodeSetParams", CallKind::sets_exec_node},
                                     {"CtxSynchronize", CallKind::sync_all},
                                     {"StreamSynchronize", CallKind::sync_stream},
                                     {"EventSynchronize", CallKind::sync},
                                     {"DeviceSynchronize", CallKind::sync_all},
                                     {"ThreadSynchronize", CallKind::sync_all},
                                     {"MemAlloc", CallKind::memory},
                                     {"MemFree", CallKind::memory},
                                     {"MemHostAlloc", CallKind::memory},
                                     {"MemHostRegister", CallKind::memory},
                                     {"MemHostUnregister", CallKind::memory},
                                     {"HostRegister", CallKind::memory},
                                     {"HostUnregister", CallKind::memory},
                                     {"MemCreate", CallKind::memory},
                                     {"MemRelease", CallKind::memory},
                                     {"Malloc", CallKind::memory},
                                     {"Free", CallKind::memory},
                                     {"HostAlloc", CallKind::memory},
                                     {"ArrayCreate", CallKind::memory},
                                     {"Array3DCreate", CallKind::memory},
                                     {"ArrayDestroy", CallKind::memory}};

constexpr CallKind kind_of_work(CudaWork work) {
  switch (work) {
    case CudaWork::operation:
      return CallKind::launch;
    case CudaWork::kernel:
      return CallKind::launches_kernel;
    case CudaWork::several:
      return CallKind::several;
    case CudaWork::graph:
      return CallKind::launches_graph;
    case CudaWork::none:
      break;
  }
  return CallKind::other;
}

CallKind kinds[2][kMaxCallbackId];
bool sized[2][kMaxCallbackId];

size_t row_of(CUpti_CallbackDomain domain) {
  return domain == CUPTI_CB_DOMAIN_DRIVER_API ? 0 : 1;
}

// Returns the name after "cu" or "cuda".
const char* after_prefix(const char* name) {
  while (*name == '_') {
    ++name;  // since CUDA 13, <<<>>> calls __cudaLaunchKernel
  }
  if (strncmp(name, "cuda", 4) == 0) {
    return name + 4;
  }
  return strncmp(name, "cu", 2) == 0 ? name + 2 : name;
}

}  // namespace

CallKind kind_of_name(const char* name) {
  name = after_prefix(name);
  for (const CudaLaunch& launch : kCudaLaunches) {
    if (strncmp(name, launch.beginning.data(), launch.beginning.size()) == 0) {
      return kind_of_work(launch.work);
    }
  }
  for (const Beginning& beginning : kBeginnings) {
    if (strncmp(name, beginning.text, strlen(beginning.text)) == 0) {
      return beginning.kind;
    }
  }
  return CallKind::other;
}

bool has_size(const char* name) {
  name = after_prefix(name);
  for (const char* beginning : {"MemcpyHtoD", "MemcpyDtoH", "MemcpyDtoD", "MemsetD8", "MemsetD16", "MemsetD32"}) {
    if (strncmp(name, beginning, strlen(beginning)) == 0) {
      // The first versions have 32-bit arguments. Only asynchronous fills have no second version.
      return strstr(name, "_v2") != nullptr || (strncmp(name, "Memset", 6) == 0 && strstr(name, "Async") != nullptr);
    }
  }
  const size_t length = strcspn(name, "_");  // without "_v3020" or "_ptsz"
  for (const char* whole : {"Memcpy", "MemcpyAsync", "Memset", "MemsetAsync"}) {
    if (length == strlen(whole) && strncmp(name, whole, length) == 0) {
      return true;
    }
  }
  return false;
}

bool is_empty(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* params) {
  return id < kMaxCallbackId && params != nullptr && sized[row_of(domain)][id] &&
         static_cast<const SizedParams*>(params)->size == 0;
}

CallKind kind_of(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return id < kMaxCallbackId ? kinds[row_of(domain)][id] : CallKind::other;
}

size_t learn_calls(CUpti_CallbackDomain domain) {
  CallKind* const known = kinds[row_of(domain)];
  size_t interesting = 0;
  for (CUpti_CallbackId id = 1; id < kMaxCallbackId; ++id) {
    const char* name = nullptr;
    if (session().api.get_callback_name(domain, id, &name) == CUPTI_SUCCESS && name != nullptr) {
      known[id] = kind_of_name(name);
      sized[row_of(domain)][id] = has_size(name);
      interesting += known[id] != CallKind::other ? 1 : 0;
    }
  }
  return interesting;
}

}  // namespace gpuprof::injection::cupti
