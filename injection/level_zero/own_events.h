// Events of ours, which the host reads: each has the time of one command. All calls hold Locked.
#pragma once

#include "level_zero/api.h"

namespace gpuprof::injection::level_zero {

struct OwnContext;

struct OwnEvent {
  ze_event_handle_t handle;
  OwnEvent* next;
  OwnContext* context;
  ze_context_handle_t context_handle;
  bool left;  // to the driver
};

// One that is not signaled; null: no memory, or the driver refuses.
OwnEvent* take_event(ze_context_handle_t context);

// It is not used by any device any more. Null is nothing.
void give_back(OwnEvent* event);

// It cannot be read or reset, and is not used again. After many of them, the context has no more events. Null is
// nothing.
void abandon(OwnEvent* event);

// A device may still signal it, and its context goes: it is left to the driver. Null is nothing.
void leave(OwnEvent* event);

// The target destroys the context: what is ours in it goes first.
void destroy_events(ze_context_handle_t context);

// Destroys those of contexts in which none is used. False: some are used, or may be.
bool destroy_unused_events();

void forget_events();

}  // namespace gpuprof::injection::level_zero
