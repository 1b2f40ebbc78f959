// How long a session waits for whom. What must be longer or shorter than something else is held to it here; the
// injection's side of a pair is in wire/wire.h.
#pragma once

#include <cstdint>

#include "record/ipc/overhead_limiter.h"
#include "wire/wire.h"

namespace gpuprof::record {

// Launches make no wake-ups: they are polled for, less often where nothing comes.
inline constexpr int kBusyPollMs = 2;
inline constexpr int kIdlePollMs = GPUPROF_POLL_NS / 1'000'000;
static_assert(GPUPROF_POLL_NS * 10 <= GPUPROF_RECORDER_ALIVE_NS, "a polling recorder is a living one");
static_assert(GPUPROF_POLL_NS < OverheadLimiter::kIntervalNs);

// At most so much is lost when gpuprof is killed.
inline constexpr uint64_t kWriteIntervalNs = 500'000'000;

// For the stack engine to be ready for a new process, which waits in its handshake meanwhile: it must still wait when
// it is let go.
inline constexpr uint64_t kHoldNs = 1'500'000'000;
static_assert(kHoldNs + 250'000'000 <= GPUPROF_HANDSHAKE_WAIT_NS);

// For children of the ended command that have not connected yet, and after the last one that has.
inline constexpr uint64_t kLingerNs = 2'000'000'000;
inline constexpr uint64_t kLastLingerNs = kLingerNs / 10;

// For what targets that live on still hold.
inline constexpr uint64_t kFlushWaitNs = 2'000'000'000;
static_assert(kFlushWaitNs >= 2 * GPUPROF_IDLE_FLUSH_NS);

// For a library to leave a process that we have attached to.
inline constexpr uint64_t kRetractWaitNs = 3'000'000'000;
static_assert(kRetractWaitNs > GPUPROF_LEAVE_WAIT_NS);

// For a library that was brought in to connect, before the user is told that it has not.
inline constexpr uint64_t kConnectWaitNs = 10'000'000'000;
static_assert(kConnectWaitNs > GPUPROF_HANDSHAKE_WAIT_NS);

// A signal after a longer time does not insist on the last one.
inline constexpr uint64_t kSignalMemoryNs = 5'000'000'000;

}  // namespace gpuprof::record
