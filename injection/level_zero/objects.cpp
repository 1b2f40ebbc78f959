#include "level_zero/objects.h"

#include "runtime/lifecycle.h"

namespace gpuprof::injection::level_zero {

constinit HandleTable<EventPool> event_pools;
constinit HandleTable<TargetEvent> target_events;
constinit HandleTable<Queue> queues;
constinit HandleTable<List> lists;

namespace {

uint32_t lock = 0;
uint32_t given_up = 0;
uint64_t last_stream = 0;

bool lock_or_give_up() {
  constexpr int kTries = 100;  // 2 s, because on a busy machine the lock's holder may not run for a long time
  for (int i = 0; i < kTries; ++i) {
    if (load_relaxed(&given_up) != 0) {
      return false;
    }
    if (try_lock_bounded(&lock)) {
      return true;
    }
  }
  store_relaxed(&given_up, 1U);
  disable("recording of Level Zero stopped: a thread of the program held a lock of gpuprof for 2 s");
  return false;
}

}  // namespace

Locked::Locked(bool wanted) : held_(wanted && lock_or_give_up()) {}

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
  store_relaxed(&given_up, 0U);
  event_pools.forget();
  target_events.forget();
  queues.forget();
  lists.forget();
}

}  // namespace gpuprof::injection::level_zero
