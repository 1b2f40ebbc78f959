#include "cupti/shared.h"

#include <cstdlib>
#include <cstring>

#include "cupti/activity/buffers.h"
#include "cupti/session.h"
#include "wire/wire.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint32_t kSharedSince = 130300;

const SharedApi& shared() {
  return session().api.shared;
}

void on_shared_request(uint8_t** buffer, size_t* size, size_t* max_records, void* /*info*/) {
  on_buffer_requested(buffer, size, max_records);
}

void on_shared_complete(uint8_t* buffer, size_t size, size_t valid, void* /*info*/) {
  on_buffer_completed(nullptr, 0, buffer, size, valid);
}

bool can_share() {
  uint32_t version = 0;
  return shared().complete && session().api.get_version(&version) == CUPTI_SUCCESS && version >= kSharedSince;
}

}  // namespace

bool wants_sharing() {
  const char* text = secure_getenv(GPUPROF_ENV_CUPTI_SHARED);
  return text != nullptr && strcmp(text, "1") == 0 && can_share();
}

CUptiResult subscribe_shared(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, char* holder) {
  holder[0] = '\0';
  if (shared().subscribe == nullptr) {
    return CUPTI_ERROR_NOT_SUPPORTED;
  }
  const bool shares = can_share();
  CUpti_SubscriberParams params = {};
  params.structSize = shares ? sizeof(params) : offsetof(CUpti_SubscriberParams, allowMultipleSubscribers);
  params.subscriberName = "gpuprof";
  params.oldSubscriberName = holder;
  params.oldSubscriberSize = kHolderBytes;
  params.allowMultipleSubscribers = 1;
  CUptiResult result = shared().subscribe(subscriber, callback, nullptr, &params);
  holder[kHolderBytes - 1] = '\0';
  uint64_t time = 0;
  // With an old driver, CUPTI may reject only the calls that follow.
  if (result == CUPTI_SUCCESS && (!shares || shared().get_timestamp(*subscriber, &time) != CUPTI_SUCCESS)) {
    session().api.unsubscribe(*subscriber);
    result = CUPTI_ERROR_NOT_SUPPORTED;
  }
  session().shared = result == CUPTI_SUCCESS ? *subscriber : nullptr;
  return result;
}

CUptiResult register_buffers() {
  const CUpti_SubscriberHandle mine = session().shared;
  return mine == nullptr ? session().api.register_buffers(on_buffer_requested, on_buffer_completed)
                         : shared().register_buffers(mine, on_shared_request, on_shared_complete);
}

CUptiResult enable_kind(CUpti_ActivityKind kind) {
  const CUpti_SubscriberHandle mine = session().shared;
  return mine == nullptr ? session().api.enable(kind) : shared().enable(mine, kind, nullptr);
}

CUptiResult disable_kind(CUpti_ActivityKind kind) {
  const CUpti_SubscriberHandle mine = session().shared;
  return mine == nullptr ? session().api.disable(kind) : shared().disable(mine, kind, nullptr);
}

CUptiResult next_record(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  const CUpti_SubscriberHandle mine = session().shared;
  return mine == nullptr ? session().api.next_record(buffer, valid, record)
                         : shared().next_record(mine, buffer, valid, record);
}

CUptiResult dropped_records(size_t* dropped) {
  const CUpti_SubscriberHandle mine = session().shared;
  return mine == nullptr ? session().api.dropped_records(nullptr, 0, dropped)
                         : shared().dropped_records(mine, nullptr, 0, dropped);
}

CUptiResult cupti_time(uint64_t* time) {
  const CUpti_SubscriberHandle mine = session().shared;
  return mine == nullptr ? session().api.get_timestamp(time) : shared().get_timestamp(mine, time);
}

}  // namespace gpuprof::injection::cupti
