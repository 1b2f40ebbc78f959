// Time limits of a session. Assertions relate them to each other, and to the injection library's limits in wire/wire.h.
#pragma once

#include <cstdint>

#include "record/ipc/overhead_limiter.h"
#include "wire/wire.h"

namespace gpuprof::record {

// Launches do not wake the recorder: it polls, less often if nothing arrives.
inline constexpr int kBusyPollMs = 2;
inline constexpr int kIdlePollMs = GPUPROF_POLL_NS / 1'000'000;
static_assert(GPUPROF_POLL_NS * 10 <= GPUPROF_RECORDER_ALIVE_NS,
              "targets must see several heartbeats of the recorder before they take it for dead");
static_assert(GPUPROF_POLL_NS < OverheadLimiter::kIntervalNs);

// The time between two batches. If gpuprof is killed, the records of at most this time are lost.
inline constexpr uint64_t kWriteIntervalNs = 500'000'000;

// The longest wait for the stack engine to be ready for a new process. The process waits in its handshake, and must not
// give up before its release.
inline constexpr uint64_t kHoldNs = 1'500'000'000;
static_assert(kHoldNs + 250'000'000 <= GPUPROF_HANDSHAKE_WAIT_NS);

// Once the command has ended, record waits kLingerNs for children that have not connected yet. When the last connected
// process ends, it waits another kLastLingerNs.
inline constexpr uint64_t kLingerNs = 2'000'000'000;
inline constexpr uint64_t kLastLingerNs = kLingerNs / 10;

// The longest wait for records that live targets still hold.
inline constexpr uint64_t kFlushWaitNs = 2'000'000'000;
static_assert(kFlushWaitNs >= 2 * GPUPROF_IDLE_FLUSH_NS);

// The longest wait for an injected library to leave its process.
inline constexpr uint64_t kRetractWaitNs = 3'000'000'000;
static_assert(kRetractWaitNs > GPUPROF_LEAVE_WAIT_NS);

// The time after which the user is warned that an injected library has not connected.
inline constexpr uint64_t kConnectWaitNs = 10'000'000'000;
static_assert(kConnectWaitNs > GPUPROF_HANDSHAKE_WAIT_NS);

// A stop signal that comes this long after the last one is passed on like the first. Sooner ones end the target.
inline constexpr uint64_t kSignalMemoryNs = 5'000'000'000;

}  // namespace gpuprof::record
