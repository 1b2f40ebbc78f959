// The state of this process's connection. Global, because vendor callbacks carry no context of the library. Only
// runtime/lifecycle.cpp changes it; others use open_segment().
#pragma once

#include <cstdint>

#include "base/atomics.h"
#include "wire/wire.h"

namespace gpuprof::injection {

enum Phase : uint32_t {
  kNotStarted = 0,
  kConnecting = 1,
  kOn = 2,
  kOff = 3,
  kForked = 4,  // forked child of a connected parent: it connects at its first launch
};

struct ProcessState {
  uint32_t phase;   // atomic, enum Phase
  uint32_t source;  // the recorder's id of this process
  gpuprof_segment* segment;
  // Points to a 1 in a page that a forked child sees as zero, even if the fork system call ran no fork handlers.
  const uint32_t* alive;
  void (*fork_callback)();
  bool fork_handler;  // the fork handler is installed
  char backend[16];
  // Address to connect to; empty: use the environment.
  char socket[108];
  char token[33];
  uint32_t user;
};

inline constexpr uint32_t always_alive = 1;  // used for `alive` if the page is not available
inline constinit ProcessState process_state = {kNotStarted, 0, nullptr, &always_alive, nullptr, false, {}, {}, {}, 0};

// Returns null unless connected and enabled. In a forked child also returns null, because the segment is the parent's.
inline gpuprof_segment* open_segment() {
  const ProcessState& state = process_state;
  return load_acquire(&state.phase) == kOn && load_relaxed(state.alive) != 0 ? state.segment : nullptr;
}

}  // namespace gpuprof::injection
