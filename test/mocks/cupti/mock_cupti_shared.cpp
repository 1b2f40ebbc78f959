#include "mock_cupti_shared.h"

#include <cupti_activity.h>

#include <cstddef>
#include <cstring>
#include <mutex>
#include <vector>

#include "mock_cupti_buffers.h"
#include "mock_faults.h"

namespace gpuprof::mock {
namespace {

using Request = void (*)(uint8_t** buffer, size_t* size, size_t* max_records, void* info);
using Complete = void (*)(uint8_t* buffer, size_t size, size_t valid, void* info);
constexpr size_t kOldParams = offsetof(CUpti_SubscriberParams, oldSubscriberSize) + sizeof(size_t);

struct Shared {
  std::mutex mutex;
  bool on = false;  // the first subscriber has allowed others
  char first[64] = {};
  Request main_request = nullptr;
  Complete main_complete = nullptr;
  CUpti_SubscriberHandle tool = nullptr;
  Request request = nullptr;
  Complete complete = nullptr;
  bool kernels = false;
  std::vector<CUpti_ActivityKernel10> pending;
};
Shared& shared() {
  static auto* const only = new Shared;  // never freed: callbacks may run during exit
  return *only;
}

void main_request(uint8_t** buffer, size_t* size, size_t* max_records) {
  shared().main_request(buffer, size, max_records, nullptr);
}

void main_complete(CUcontext, uint32_t, uint8_t* buffer, size_t size, size_t valid) {
  shared().main_complete(buffer, size, valid, nullptr);
}

bool is_tool(CUpti_SubscriberHandle subscriber) {
  return subscriber != nullptr && subscriber == shared().tool;
}

bool allows_several(const CUpti_SubscriberParams* params) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(params);
  return params != nullptr && params->structSize > kOldParams && bytes[kOldParams] == 1 &&
         faults().old_version >= 130200;
}

}  // namespace

bool shared_mode() {
  return shared().on;
}

void forbid_if_shared(const char* call) {
  if (shared_mode()) {
    violation(call);
  }
}

bool has_tool() {
  return shared().tool != nullptr;
}

bool forget_tool(CUpti_SubscriberHandle subscriber) {
  if (!is_tool(subscriber)) {
    return false;
  }
  shared().tool = nullptr;
  return true;
}

void tool_op(const Op& op) {
  Shared& s = shared();
  const std::lock_guard lock(s.mutex);
  if (s.tool != nullptr && s.kernels && op.kind == OpKind::kernel) {
    CUpti_ActivityKernel10 record = {};
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.correlationId = op.correlation;
    record.start = op.start_ns;
    record.end = op.end_ns;
    s.pending.push_back(record);
  }
}

void flush_tool() {
  Shared& s = shared();
  const std::lock_guard lock(s.mutex);
  if (s.tool == nullptr || s.request == nullptr || s.pending.empty()) {
    return;
  }
  uint8_t* buffer = nullptr;
  size_t size = 0;
  size_t most = 0;
  s.request(&buffer, &size, &most, nullptr);
  const size_t bytes = s.pending.size() * sizeof(s.pending[0]);
  if (bytes > size) {
    violation("the mock delivers all records of a tool in one buffer, which is too small");
  }
  memcpy(buffer, s.pending.data(), bytes);
  s.pending.clear();
  s.complete(buffer, size, bytes, nullptr);
}

}  // namespace gpuprof::mock

using namespace gpuprof;

extern "C" {

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user,
                              CUpti_SubscriberParams* params) {
  mock::Shared& s = mock::shared();
  const bool any = mock::has_main() || mock::has_tool() || mock::faults().subscriber_conflict;
  const bool several = mock::allows_several(params);
  if (any && !(s.on && several)) {
    if (params != nullptr && params->oldSubscriberName != nullptr) {
      const char* holder = s.first[0] != '\0' ? s.first : "";
      strncpy(params->oldSubscriberName, holder, params->oldSubscriberSize);
    }
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  if (!any) {
    s.on = several;
    strncpy(s.first, params != nullptr && params->subscriberName != nullptr ? params->subscriberName : "",
            sizeof(s.first) - 1);
  }
  if (callback != nullptr) {
    return mock::subscribe_main(subscriber, callback, user);
  }
  static int place = 0;
  s.tool = reinterpret_cast<CUpti_SubscriberHandle>(&place);
  *subscriber = s.tool;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber, mock::Request request,
                                              mock::Complete complete) {
  mock::Shared& s = mock::shared();
  if (mock::is_tool(subscriber)) {
    s.request = request;
    s.complete = complete;
    return CUPTI_SUCCESS;
  }
  if (!mock::is_main(subscriber)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  s.main_request = request;
  s.main_complete = complete;
  mock::set_buffer_callbacks(mock::main_request, mock::main_complete);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind, void*) {
  if (mock::is_tool(subscriber)) {
    mock::shared().kernels = mock::shared().kernels || kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    return CUPTI_SUCCESS;
  }
  return mock::is_main(subscriber) ? mock::enable_main(kind) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityDisable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind, void*) {
  if (mock::is_tool(subscriber)) {
    return CUPTI_SUCCESS;
  }
  return mock::is_main(subscriber) ? mock::disable_main(kind) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber, uint8_t* buffer, size_t valid,
                                          CUpti_Activity** record) {
  return mock::is_tool(subscriber) || mock::is_main(subscriber) ? cuptiActivityGetNextRecord(buffer, valid, record)
                                                                : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber, CUcontext context, uint32_t stream,
                                                 size_t* dropped) {
  return mock::is_main(subscriber) ? cuptiActivityGetNumDroppedRecords(context, stream, dropped)
                                   : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetTimestamp_v2(CUpti_SubscriberHandle subscriber, uint64_t* time) {
  return mock::is_tool(subscriber) || mock::is_main(subscriber) ? cuptiGetTimestamp(time)
                                                                : CUPTI_ERROR_INVALID_PARAMETER;
}

}  // extern "C"
