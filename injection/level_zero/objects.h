// What we know of the target's handles. One lock for all of it: see Locked.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "base/atomics.h"
#include "base/guard.h"
#include "base/handle_table.h"
#include "level_zero/api.h"
#include "wire/wire.h"

namespace gpuprof::injection::level_zero {

// The lock of all tables, events and outstanding work. Held for calls of the driver that do not wait. A thread that
// cannot have it in bounded time goes on without us; and as we would miss what becomes of a handle then, nothing is
// recorded or looked at from there on: no thread has the lock any more.
class Locked {
 public:
  explicit Locked(bool wanted = true);
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  [[nodiscard]] bool held() const { return held_; }

 private:
  bool held_;
};

// In a callback that changes a table: Locked, but for calls of our own that come back to us.
class LockedCallback {
 public:
  LockedCallback() : locked_(guard_.entered()) {}
  [[nodiscard]] bool held() const { return locked_.held(); }

 private:
  Guard guard_;
  Locked locked_;
};

// ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP, of later versions. Such times are not the device's: events of such pools
// stay unknown, too, and are left alone.
constexpr uint32_t kMappedTimestamps = 1U << 3U;

struct EventPool {
  const void* handle;
  EventPool* next;
  ze_context_handle_t context;
  bool timed;  // its events have kernel timestamps
};

struct Pending;

// An event of the target's.
struct TargetEvent {
  const void* handle;
  TargetEvent* next;
  const void* pool;
  bool timed;
  Pending* pending;  // the command of ours to tell that signals it and has not been read; null: none
};

struct Queue {
  const void* handle;
  Queue* next;
  uint64_t number;  // the stream of the profile
  uint32_t ordinal;
};

struct Recorded;

struct List {
  const void* handle;
  List* next;
  ze_context_handle_t context;
  ze_device_handle_t device;
  uint64_t number;
  uint32_t ordinal;
  bool immediate;
  bool older;          // than our being here: what it was filled with is not known, until its next reset
  Recorded* recorded;  // executions.h; null: nothing in it yet
};

// NOLINTBEGIN(bugprone-dynamic-static-initializers): they are constinit
extern HandleTable<EventPool> event_pools;
extern HandleTable<TargetEvent> target_events;
extern HandleTable<Queue> queues;
extern HandleTable<List> lists;
// NOLINTEND(bugprone-dynamic-static-initializers)

// Of queues and immediate lists: 1, 2, ...
uint64_t next_stream();

// One command of the target's, whose time is wanted.
struct OwnEvent;
struct Work {
  uint64_t node;  // of a list that is executed later; else 0
  uint64_t bytes;
  OwnEvent* own;            // that it signals; null: the target's, or none
  ze_event_handle_t users;  // an event of the target's with timestamps, which is left to it
  uint32_t name;
  gpuprof_op op;
};

void forget_objects();

}  // namespace gpuprof::injection::level_zero
