#include "level_zero/stalls/sampled_device.h"

#include <cstdio>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "ipc/emit.h"
#include "level_zero/devices.h"
#include "runtime/lifecycle.h"

namespace gpuprof::injection::level_zero {
namespace {

constexpr uint64_t kMillisecond = 1000000;
constexpr uint64_t kLagNs = 20 * kMillisecond;     // A sample becomes readable at most this long after it was taken.
constexpr uint64_t kRetryNs = 100 * kMillisecond;  // delay before a lost stream is reopened
constexpr uint32_t kMaxTries = 100;     // limit on successive attempts to reopen a stream without a successful read
constexpr int kMaxReads = 64;           // limit on the reads of a stream per poll iteration
constexpr uint32_t kPeriodNs = 100000;  // requested period in ns; a driver chooses the nearest period that it supports

uint32_t off_reported = 0;  // atomic

uint32_t wanted_period_ns(uint32_t device) {
  const gpuprof_options* wanted = options();
  const uint64_t cycles = wanted != nullptr ? wanted->sampling_period : 0;
  const uint32_t mhz = core_mhz(device);
  const uint64_t ns = cycles == 0 || mhz == 0 ? kPeriodNs : cycles * 1000 / mhz;
  return ns == 0 ? 1 : ns > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(ns);
}

bool reopen(SampledDevice& one, StallWork* work) {
  const uint64_t now = now_ns();
  if (now < one.next_try_ns) {
    return false;
  }
  const ze_result_t result = open_stream(*work->zet, one);
  if (result != ZE_RESULT_SUCCESS) {
    one.next_try_ns = now + kRetryNs;
    if (++one.tries >= kMaxTries) {
      report_refusal(result, one.device);
      store_release(&one.state, uint32_t{kRefused});
    }
    return false;
  }
  ++work->reopened;
  one.lost = false;
  return true;
}

void close_for_now(SampledDevice& one, const MetricsApi& zet) {
  one.stream.close(zet);
  one.windows.add_dropped();
  one.lost = true;
  one.next_try_ns = now_ns();
}

void lose(SampledDevice& one, const MetricsApi& zet) {
  close_for_now(one, zet);
  if (++one.tries >= kMaxTries) {
    report_refusal(ZE_RESULT_ERROR_DEVICE_LOST, one.device);
    store_release(&one.state, uint32_t{kRefused});
  }
}

// Reads the stream; returns true if it is then empty. While recording is off, also reads, but discards the samples.
// Otherwise they would be reported when recording resumes.
bool read_all(SampledDevice& one, StallWork* work, bool is_told) {
  for (int i = 0; i < kMaxReads && work->may_call(); ++i) {
    const StallStream::Read read = one.stream.read(*work->zet, one.group, work->buffers);
    if (read.dropped || read.malformed) {
      one.windows.add_dropped();
      ++work->drops;
    }
    if (read.outcome == StallStream::Outcome::lost) {
      lose(one, *work->zet);
      return true;
    }
    if (read.outcome == StallStream::Outcome::nothing) {
      return true;
    }
    one.tries = 0;
    if (is_told) {
      one.windows.add(one.group, read, work->buffers->values, work->sums);
    }
  }
  return false;
}

}  // namespace

void report_off(const char* reason, uint32_t device) {
  if (swap_if(&off_reported, 0, 1)) {
    char text[400];
    snprintf(text, sizeof(text), "%s (device %u)", reason, device);
    meta("sampling.off", text);
  }
}

void report_refusal(ze_result_t result, uint32_t device) {
  if (result == ZE_RESULT_SUCCESS) {
    report_off(stall_refusal(result), device);
    return;
  }
  char text[360];
  snprintf(text, sizeof(text), "%s (Level Zero result %#x)", stall_refusal(result), static_cast<unsigned>(result));
  report_off(text, device);
}

void forget_refusals() {
  store_relaxed(&off_reported, 0U);
}

ze_result_t open_stream(const MetricsApi& zet, SampledDevice& one) {
  const ze_result_t result =
      one.stream.open(zet, driver_of(one.device), handle_of(one.device), one.group, wanted_period_ns(one.device));
  one.floor_ns = now_ns();
  one.empty_ns = one.floor_ns;
  one.was_on = active();
  return result;
}

void read_stream(SampledDevice& one, StallWork* work) {
  if (one.lost && !reopen(one, work)) {
    return;
  }
  const uint64_t late = one.empty_ns > kLagNs ? one.empty_ns - kLagNs : 0;
  const uint64_t start = late > one.floor_ns ? late : one.floor_ns;
  // When recording is switched off, the last window must still be reported.
  const bool on = active();
  const bool is_told = on || one.was_on;
  one.was_on = on;
  const bool empty = read_all(one, work, is_told);
  const uint64_t now = now_ns();
  if (is_told) {
    one.windows.close(one.group, start, now, one.stream.period_ns(), work->sums);
  } else {
    one.windows.forget(work->sums);
  }
  one.floor_ns = on ? one.floor_ns : now;
  one.empty_ns = empty ? now : one.empty_ns;
}

void pause_stream(SampledDevice& one, StallWork* work) {
  close_for_now(one, *work->zet);
  one.tries = 0;
}

}  // namespace gpuprof::injection::level_zero
