// Tracks the target's handles. One lock protects everything: see Locked.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "base/atomics.h"
#include "base/guard.h"
#include "base/handle_table.h"
#include "level_zero/api/api.h"
#include "wire/wire.h"

namespace gpuprof::injection::level_zero {

// The lock of all handle tables, events and outstanding work. While holding it, make no driver call that waits. If a
// thread cannot get the lock in time, it would miss handle changes. So recording then ends, and no thread gets the lock
// again.
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

// Holds Locked in a callback that changes a table. Takes no lock if the library itself made the call.
class LockedCallback {
 public:
  LockedCallback() : locked_(guard_.entered()) {}
  [[nodiscard]] bool held() const { return locked_.held(); }

 private:
  Guard guard_;
  Locked locked_;
};

// Later versions call this ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP. gpuprof does not track events of a pool with
// this flag, because they have no device times.
constexpr uint32_t kMappedTimestamps = 1U << 3U;

struct EventPool {
  const void* handle;
  EventPool* next;
  ze_context_handle_t context;
  bool timed;  // events of the pool have kernel timestamps
};

struct Pending;

struct TargetEvent {
  const void* handle;
  TargetEvent* next;
  const void* pool;
  bool timed;
  Pending* pending;  // the command that will signal this event and whose time is not read yet; null: no such command
};

struct Queue {
  const void* handle;
  Queue* next;
  uint64_t number;  // number of the queue or immediate list, used as the profile's stream id
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
  bool older;          // The list was created before the recording, so its commands are unknown until it is reset.
  Recorded* recorded;  // the list's commands (executions.h); null: none so far
};

// NOLINTBEGIN(bugprone-dynamic-static-initializers): they are constinit
extern HandleTable<EventPool> event_pools;
extern HandleTable<TargetEvent> target_events;
extern HandleTable<Queue> queues;
extern HandleTable<List> lists;
// NOLINTEND(bugprone-dynamic-static-initializers)

// Returns the next number for a queue or an immediate list: 1, 2, ...
uint64_t next_stream();

struct OwnEvent;
// A command of the target whose time is measured.
struct Work {
  uint64_t node;  // graph node id if the command is in a list that is executed later; else 0
  uint64_t bytes;
  OwnEvent* own;            // library event that the command signals; null: the command signals no library event
  ze_event_handle_t users;  // event of the target with timestamps, which the command signals; null: no such event
  uint32_t name;
  gpuprof_op op;
};

void forget_objects();

}  // namespace gpuprof::injection::level_zero
