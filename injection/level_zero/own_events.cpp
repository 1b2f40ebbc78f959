#include "level_zero/own_events.h"

#include <cstdint>
#include <cstdlib>

namespace gpuprof::injection::level_zero {
namespace {

constexpr uint32_t kEventsInPool = 64;
constexpr uint32_t kMostAbandoned = 1024;

struct OwnPool {
  ze_event_pool_handle_t handle;
  OwnPool* next;
  OwnEvent events[kEventsInPool];
};

}  // namespace

struct OwnContext {
  ze_context_handle_t handle;
  OwnContext* next;
  OwnPool* pools;
  OwnEvent* unused;
  uint32_t made;
  uint32_t abandoned;
  bool refused;  // the driver refuses to create more events
};

namespace {

OwnContext* contexts = nullptr;

OwnContext* find_or_add(ze_context_handle_t handle) {
  for (OwnContext* known = contexts; known != nullptr; known = known->next) {
    if (known->handle == handle) {
      return known;
    }
  }
  auto* added = static_cast<OwnContext*>(calloc(1, sizeof(OwnContext)));
  if (added != nullptr) {
    added->handle = handle;
    added->next = contexts;
    contexts = added;
  }
  return added;
}

bool make_event(OwnPool* pool, uint32_t index) {
  ze_event_desc_t description = {};
  description.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
  description.index = index;
  description.signal = ZE_EVENT_SCOPE_FLAG_HOST;
  description.wait = 0;
  return api.zeEventCreate(pool->handle, &description, &pool->events[index].handle) == ZE_RESULT_SUCCESS;
}

OwnPool* make_pool(ze_context_handle_t context) {
  auto* pool = static_cast<OwnPool*>(calloc(1, sizeof(OwnPool)));
  if (pool == nullptr) {
    return nullptr;
  }
  ze_event_pool_desc_t description = {};
  description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  description.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
  description.count = kEventsInPool;
  if (api.zeEventPoolCreate(context, &description, 0, nullptr, &pool->handle) != ZE_RESULT_SUCCESS) {
    free(pool);
    return nullptr;
  }
  return pool;
}

void add_pool(OwnContext* context) {
  OwnPool* pool = make_pool(context->handle);
  if (pool == nullptr) {
    context->refused = true;
    return;
  }
  pool->next = context->pools;
  context->pools = pool;
  for (uint32_t i = 0; i < kEventsInPool && make_event(pool, i); ++i) {
    OwnEvent* event = &pool->events[i];
    event->context = context;
    event->context_handle = context->handle;
    event->next = context->unused;
    context->unused = event;
    ++context->made;
  }
  context->refused = context->unused == nullptr;
}

}  // namespace

OwnEvent* take_event(ze_context_handle_t handle) {
  OwnContext* context = find_or_add(handle);
  if (context == nullptr || context->abandoned >= kMostAbandoned) {
    return nullptr;
  }
  if (context->unused == nullptr && !context->refused) {
    add_pool(context);
  }
  OwnEvent* event = context->unused;
  if (event != nullptr) {
    context->unused = event->next;
  }
  return event;
}

void give_back(OwnEvent* event) {
  // If an event cannot be reset, it stays signaled. The next command that uses it would seem to be finished at once.
  if (event == nullptr || api.zeEventHostReset(event->handle) != ZE_RESULT_SUCCESS) {
    abandon(event);
    return;
  }
  event->next = event->context->unused;
  event->context->unused = event;
}

void abandon(OwnEvent* event) {
  if (event != nullptr) {
    ++event->context->abandoned;
  }
}

void leave(OwnEvent* event) {
  if (event != nullptr) {
    event->left = true;
  }
}

namespace {

void destroy_pool(OwnPool* pool) {
  bool whole = true;
  for (const OwnEvent& event : pool->events) {
    if (event.left) {
      whole = false;
    } else if (event.handle != nullptr) {
      api.zeEventDestroy(event.handle);
    }
  }
  if (whole) {
    api.zeEventPoolDestroy(pool->handle);
  }
  free(pool);
}

}  // namespace

void destroy_events(ze_context_handle_t handle) {
  OwnContext** link = &contexts;
  while (*link != nullptr && (*link)->handle != handle) {
    link = &(*link)->next;
  }
  OwnContext* context = *link;
  if (context == nullptr) {
    return;
  }
  *link = context->next;
  while (context->pools != nullptr) {
    OwnPool* pool = context->pools;
    context->pools = pool->next;
    destroy_pool(pool);
  }
  free(context);
}

bool destroy_unused_events() {
  bool all = true;
  for (OwnContext* context = contexts; context != nullptr;) {
    OwnContext* next = context->next;
    uint32_t unused = 0;
    for (const OwnEvent* event = context->unused; event != nullptr; event = event->next) {
      ++unused;
    }
    if (unused == context->made) {
      destroy_events(context->handle);
    } else {
      all = false;
    }
    context = next;
  }
  return all;
}

void forget_events() {
  contexts = nullptr;
}

}  // namespace gpuprof::injection::level_zero
