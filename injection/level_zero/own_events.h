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
};

// One that is not signaled; null: no memory, or the driver refuses.
OwnEvent* take_event(ze_context_handle_t context);

// It is not used by any device any more. Null is nothing.
void give_back(OwnEvent* event);

// The target destroys the context: what is ours in it goes first.
void destroy_events(ze_context_handle_t context);

void forget_events();

}  // namespace gpuprof::injection::level_zero
