#include "level_zero/objects.h"

namespace gpuprof::injection::level_zero {

constinit HandleTable<EventPool> event_pools;
constinit HandleTable<TargetEvent> target_events;
constinit HandleTable<Queue> queues;
constinit HandleTable<List> lists;

namespace {

uint32_t lock = 0;
uint64_t last_stream = 0;

}  // namespace

Locked::Locked(bool wanted) : held_(wanted && try_lock_bounded(&lock)) {}

Locked::~Locked() {
  if (held_) {
    unlock(&lock);
  }
}

uint64_t next_stream() {
  return add_relaxed(&last_stream, uint64_t{1}) + 1;
}

void forget_objects() {
  store_relaxed(&lock, 0U);
  event_pools.forget();
  target_events.forget();
  queues.forget();
  lists.forget();
}

}  // namespace gpuprof::injection::level_zero
