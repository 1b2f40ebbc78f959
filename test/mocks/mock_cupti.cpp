// A libcupti.so.13 that enforces what the real one does: one subscriber, callbacks for enabled ids only, records for
// enabled kinds only, and the real error codes for wrong parameters.
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <ctime>

#include "mock_cupti_buffers.h"
#include "mock_faults.h"
#include "mock_gpu.h"

namespace mock = gpuprof::mock;

struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback;
  void* user;
};

namespace {

constexpr uint32_t kMaxId = 2048;

struct Name {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  const char* name;
};
// The ids that the mock driver and runtime know; some of them must not be of interest to a profiler of launches.
constexpr Name kNames[] = {
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cuCtxSynchronize"},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, "cuStreamSynchronize"},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, "cuMemAlloc_v2"},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, "cuLaunchHostFunc"},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel"},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync_v2"},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync_v2"},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync_v2"},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync, "cuMemcpyPeerAsync"},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, "cuMemsetD8Async"},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch"},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel_v7000"},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, "cudaMemcpyAsync_v3020"},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, "cudaMemsetAsync_v3020"},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, "cudaGraphLaunch_v10000"},
};

struct Library {
  std::atomic<CUpti_Subscriber_st*> subscriber{nullptr};
  std::atomic<bool> enabled[3][kMaxId] = {};
  std::atomic<bool> kinds[CUPTI_ACTIVITY_KIND_COUNT] = {};
};
Library library;

uint64_t clock_ns(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}

bool known(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  for (const Name& name : kNames) {
    if (name.domain == domain && name.id == id) {
      return true;
    }
  }
  return false;
}

void on_call(const mock::Call& call, mock::Site site) {
  const CUpti_Subscriber_st* subscriber = library.subscriber;
  const auto domain = static_cast<uint32_t>(call.domain);
  if (subscriber == nullptr || call.id >= kMaxId || !library.enabled[domain][call.id]) {
    return;
  }
  static thread_local uint64_t correlation_data = 0;
  int result = call.result;
  CUpti_CallbackData data = {};
  data.callbackSite = site == mock::Site::enter ? CUPTI_API_ENTER : CUPTI_API_EXIT;
  data.functionName = call.name;
  data.functionReturnValue = site == mock::Site::enter ? nullptr : &result;
  data.symbolName = call.symbol;
  data.correlationData = &correlation_data;
  data.correlationId = call.correlation;
  subscriber->callback(subscriber->user, static_cast<CUpti_CallbackDomain>(domain), call.id, &data);
}

void on_op(const mock::Op& op) {
  if (library.kinds[mock::activity_kind(op.kind)]) {
    mock::add_op(op);
  }
}

constexpr mock::Tracer kTracer = {on_call, on_op};

bool any_kind() {
  for (const auto& kind : library.kinds) {
    if (kind) {
      return true;
    }
  }
  return false;
}

}  // namespace

extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  if (text == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR_MOCK";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  if (timestamp == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *timestamp = clock_ns(CLOCK_REALTIME);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) {
  if (subscriber == nullptr || callback == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (mock::faults().subscriber_conflict || library.subscriber != nullptr) {
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  const auto set_tracer =
      driver == nullptr ? nullptr
                        : reinterpret_cast<decltype(&mock_cuda_set_tracer)>(dlsym(driver, "mock_cuda_set_tracer"));
  if (set_tracer == nullptr) {
    return CUPTI_ERROR_NOT_INITIALIZED;
  }
  mock::set_clock_offset(static_cast<int64_t>(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC)));
  library.subscriber = new CUpti_Subscriber_st{callback, user};
  *subscriber = library.subscriber;
  set_tracer(&kTracer);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  if (subscriber == nullptr || subscriber != library.subscriber) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (auto& domain : library.enabled) {
    for (auto& id : domain) {
      id = false;
    }
  }
  library.subscriber = nullptr;  // not freed: a callback may be running
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  if (name == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (const Name& candidate : kNames) {
    if (candidate.domain == domain && candidate.id == id) {
      *name = candidate.name;
      return CUPTI_SUCCESS;
    }
  }
  return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  if (subscriber == nullptr || subscriber != library.subscriber || !known(domain, id)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  library.enabled[domain][id] = enable != 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  mock::set_buffer_callbacks(request, complete);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp) {
  if (timestamp == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (mock::faults().refuse_timestamp_callback || any_kind()) {
    return CUPTI_ERROR_NOT_SUPPORTED;
  }
  mock::set_clock_offset(static_cast<int64_t>(timestamp() - clock_ns(CLOCK_MONOTONIC)));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (mock::faults().out_of_memory) {
    return CUPTI_ERROR_OUT_OF_MEMORY;
  }
  if (mock::record_bytes(kind) == 0) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  library.kinds[kind] = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (mock::record_bytes(kind) == 0) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  library.kinds[kind] = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  uint8_t* next = buffer;
  if (*record != nullptr) {
    next = reinterpret_cast<uint8_t*>(*record) + mock::record_bytes((*record)->kind);
  }
  if (next < buffer || next >= buffer + valid) {
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  auto* candidate = reinterpret_cast<CUpti_Activity*>(next);
  if (mock::record_bytes(candidate->kind) == 0) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  *record = candidate;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  if (dropped == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *dropped = mock::take_dropped();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  if (flag > CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  while (mock::faults().hang_flush) {
    pause();
  }
  mock::flush_ops((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
  return CUPTI_SUCCESS;
}

// At exit this is known to crash the real library.
CUptiResult cuptiFinalize() {
  mock::violation("cuptiFinalize");
}

}  // extern "C"
