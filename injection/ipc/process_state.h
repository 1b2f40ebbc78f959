// The state of this process's connection. It is global, because vendor callbacks carry no context of the library. Only
// runtime/lifecycle.cpp changes it; other files use open_segment().
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
  kForked = 4,  // This process is the forked child of a connected parent. It connects at its first launch.
};

struct ProcessState {
  uint32_t phase;   // atomic, enum Phase
  uint32_t source;  // the recorder's id of this process
  gpuprof_segment* segment;
  // Points to a 1 in a page that a forked child sees as zero, even if the fork system call ran no fork handlers.
  const uint32_t* alive;
  void (*fork_callback)();
  bool fork_handler;
  char backend[16];
  // Address to connect to; empty: use the environment.
  char socket[108];
  char token[33];
  uint32_t user;
};

inline constexpr uint32_t always_alive = 1;  // `alive` points to this if the page cannot be mapped
inline constinit ProcessState process_state = {kNotStarted, 0, nullptr, &always_alive, nullptr, false, {}, {}, {}, 0};

// Returns the segment, or null unless this process is connected and recording is enabled. In a forked child also
// returns null, because the segment belongs to the parent.
inline gpuprof_segment* open_segment() {
  const ProcessState& state = process_state;
  return load_acquire(&state.phase) == kOn && load_relaxed(state.alive) != 0 ? state.segment : nullptr;
}

}  // namespace gpuprof::injection
