#include "cupti/sampling/exact_ranges.h"

#include <ctime>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "cupti/session.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint64_t kLongestNs = 2000000000;
constexpr uint64_t kReaderWaitNs = 100000000;
constexpr uint64_t kReadingNs = 50000000;
constexpr long kPauseNs = 200000;

bool start(CUcontext context) {
  CUpti_PCSamplingStartParams params = {sizeof(params), nullptr, context};
  return session().api.sampling.start(&params) == CUPTI_SUCCESS;
}

void stop(CUcontext context) {
  CUpti_PCSamplingStopParams params = {sizeof(params), nullptr, context};
  session().api.sampling.stop(&params);
}

void pause() {
  const timespec time = {0, kPauseNs};
  nanosleep(&time, nullptr);
}

bool try_hold(ExactRanges* ranges, CUcontext context) {
  if (!try_lock_bounded(&ranges->lock)) {
    return false;
  }
  if (ranges->open != 0 && now_ns() - ranges->opened_ns > kLongestNs) {
    stop(context);
    ranges->open = 0;
  }
  if (ranges->open != 0) {
    unlock(&ranges->lock);
    return false;
  }
  return true;
}

}  // namespace

ExactRange open_range(ExactRanges* ranges, CUcontext context) {
  ExactRange range = {};
  const uint64_t deadline = now_ns() + kReadingNs;
  while (load_relaxed(&ranges->awaited) != 0 && now_ns() < deadline) {
    pause();
  }
  if (load_relaxed(&ranges->awaited) != 0 || !try_lock_bounded(&ranges->lock)) {
    return range;
  }
  if (ranges->open == 0 && start(context)) {
    ranges->open = 1;
    ranges->generation = ranges->generation == UINT32_MAX ? 1 : ranges->generation + 1;
    ranges->opened_ns = now_ns();
    range = {ranges->generation, ranges->opened_ns};
  } else if (ranges->open != 0) {
    ++ranges->open;
    range = {ranges->generation, now_ns()};
  }
  unlock(&ranges->lock);
  return range;
}

void close_range(ExactRanges* ranges, CUcontext context, const ExactRange& range) {
  if (range.generation == 0 || !try_lock_bounded(&ranges->lock)) {
    return;  // If the lock is busy, the range stays open, and hold_ranges() closes it later.
  }
  if (ranges->generation == range.generation && ranges->open > 0 && --ranges->open == 0) {
    stop(context);
  }
  unlock(&ranges->lock);
}

bool hold_ranges(ExactRanges* ranges, CUcontext context, bool may_wait) {
  const uint64_t deadline = now_ns() + (may_wait ? kReaderWaitNs : 0);
  store_relaxed(&ranges->awaited, 1U);
  while (!try_hold(ranges, context)) {
    if (now_ns() >= deadline) {
      store_relaxed(&ranges->awaited, 0U);
      return false;
    }
    pause();
  }
  return true;
}

void release_ranges(ExactRanges* ranges) {
  store_relaxed(&ranges->awaited, 0U);
  unlock(&ranges->lock);
}

}  // namespace gpuprof::injection::cupti
