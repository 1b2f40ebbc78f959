// What this process is to the recorder. One struct, as the vendors' callbacks come without a context of ours.
// runtime/lifecycle.cpp owns it and alone changes it; everybody else asks with open_segment().
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
  kForked = 4,  // in a child whose parent was on: connect at the first launch
};

struct ProcessState {
  uint32_t phase;   // atomic, enum Phase
  uint32_t source;  // what the recorder calls this process
  gpuprof_segment* segment;
  // One in a page that a forked child gets as zeros, also when the fork system call was made without fork handlers.
  const uint32_t* alive;
  void (*fork_callback)();
  bool fork_handler;  // is installed
  char backend[16];
  // Where to connect to; empty: as the environment says.
  char socket[108];
  char token[33];
  uint32_t user;
};

inline constexpr uint32_t always_alive = 1;  // where no such page can be had
inline constinit ProcessState process_state = {kNotStarted, 0, nullptr, &always_alive, nullptr, false, {}, {}, {}, 0};

// Null unless connected and not switched off. What is mapped in a child of fork belongs to its parent.
inline gpuprof_segment* open_segment() {
  const ProcessState& state = process_state;
  return load_acquire(&state.phase) == kOn && load_relaxed(state.alive) != 0 ? state.segment : nullptr;
}

}  // namespace gpuprof::injection
