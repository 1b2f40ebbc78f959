// Events that the injection library creates and reads on the host ("library events"). Each measures one command. All
// functions need Locked.
#pragma once

#include "level_zero/api/api.h"

namespace gpuprof::injection::level_zero {

struct OwnContext;

struct OwnEvent {
  ze_event_handle_t handle;
  OwnEvent* next;
  OwnContext* context;
  ze_context_handle_t context_handle;
  bool left;  // true: leave() has left the event to the driver
};

// Returns an event that is not signaled. Returns null if memory is exhausted or the driver refuses.
OwnEvent* take_event(ze_context_handle_t context);

// Takes back an event that no device uses. Accepts null.
void give_back(OwnEvent* event);

// Drops an event that cannot be read or reset. After many such events, take_event() returns no more events for the
// context. Accepts null.
void abandon(OwnEvent* event);

// Never destroys this event, because a device may still signal it while its context is destroyed. Accepts null.
void leave(OwnEvent* event);

// Destroys the library events of a context that the target is destroying.
void destroy_events(ze_context_handle_t context);

// For each context, destroys its library events if none of them is in use. Returns false if some may still be in use.
bool destroy_unused_events();

void forget_events();

}  // namespace gpuprof::injection::level_zero
