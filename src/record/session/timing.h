// Time limits of a session. static_asserts relate them to each other, and to the injection library's limits in
// wire/wire.h.
#pragma once

#include <cstdint>

#include "wire/wire.h"

namespace gpuprof::record {

// Launches do not wake the recorder, so it polls. It polls less often while nothing arrives.
inline constexpr int kBusyPollMs = 2;
inline constexpr int kIdlePollMs = GPUPROF_POLL_NS / 1'000'000;
// With --max-overhead, the recorder polls less often: each poll takes CPU time away from the target in its windows, but
// not between them. A kernel that runs on the CPU would then be slower in windows.
inline constexpr int kLimitedPollMs = 10;
static_assert(GPUPROF_POLL_NS * 10 <= GPUPROF_RECORDER_ALIVE_NS,
              "targets must see several heartbeats of the recorder before they take it for dead");

// The time between two batches. If gpuprof is killed, the records of about this time are lost.
inline constexpr uint64_t kWriteIntervalNs = 500'000'000;

// Time limit for the stack engine to become ready for a new process. The process waits in its handshake, and must not
// give up before it is released.
inline constexpr uint64_t kHoldNs = 1'500'000'000;
static_assert(kHoldNs + 250'000'000 <= GPUPROF_HANDSHAKE_WAIT_NS);

// After the command's end, the recorder waits kLingerNs for children that have not connected yet. When the last
// connected process ends, the recorder waits another kLastLingerNs.
inline constexpr uint64_t kLingerNs = 2'000'000'000;
inline constexpr uint64_t kLastLingerNs = kLingerNs / 10;

// Time limit for live targets to send the records that they still hold.
inline constexpr uint64_t kFlushWaitNs = 2'000'000'000;
static_assert(kFlushWaitNs >= 2 * GPUPROF_IDLE_FLUSH_NS);

// Time limit for an injected library to leave its process.
inline constexpr uint64_t kRetractWaitNs = 3'000'000'000;
static_assert(kRetractWaitNs > GPUPROF_LEAVE_WAIT_NS);

// If an injected library has not connected after this time, the recorder warns the user.
inline constexpr uint64_t kConnectWaitNs = 10'000'000'000;
static_assert(kConnectWaitNs > GPUPROF_HANDSHAKE_WAIT_NS);

// If a stop signal comes later than this after the previous one, it counts as a first one: the recorder passes it on.
// If it comes sooner, the recorder ends the target.
inline constexpr uint64_t kSignalMemoryNs = 5'000'000'000;

}  // namespace gpuprof::record
