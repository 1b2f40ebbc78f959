// Library events: created by the injection library and read by the host, each for the time of one command. All
// functions need Locked.
#pragma once

#include "level_zero/api.h"

namespace gpuprof::injection::level_zero {

struct OwnContext;

struct OwnEvent {
  ze_event_handle_t handle;
  OwnEvent* next;
  OwnContext* context;
  ze_context_handle_t context_handle;
  bool left;  // left to the driver, see leave()
};

// Returns an event that is not signaled. Null: no memory, or the driver refuses.
OwnEvent* take_event(ze_context_handle_t context);

// Takes back an event that no device uses. Accepts null.
void give_back(OwnEvent* event);

// Drops an event that cannot be read or reset. After many such events, the context gets no more events. Accepts null.
void abandon(OwnEvent* event);

// Leaves an event to the driver: a device may signal the event while the context is destroyed. Accepts null.
void leave(OwnEvent* event);

// Destroys the library events of a context that the target destroys.
void destroy_events(ze_context_handle_t context);

// For each context: destroys the library events if none of them is in use. Returns false if any may be in use.
bool destroy_unused_events();

void forget_events();

}  // namespace gpuprof::injection::level_zero
