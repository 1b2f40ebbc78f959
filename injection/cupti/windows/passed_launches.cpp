#include "cupti/windows/passed_launches.h"

#include <algorithm>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "ipc/emit.h"

namespace gpuprof::injection::cupti {
namespace {

struct Passed {
  // Atomic:
  uint32_t counting;
  uint32_t tracing;
  uint32_t lock;
  uint64_t records;  // without those of graph nodes
  // Guarded by the lock:
  bool attached;      // the process may have launched kernels before the recording
  int64_t first;      // number of the first traced kernel; 0: none
  uint64_t first_ns;  // when its record came
  int64_t last;       // number of the last traced kernel; 0: none
  uint64_t last_ns;
  uint64_t idle_ns;      // begin of the first window without kernels since then; 0: none
  int64_t window_first;  // smallest and largest number of the kernels in this window; 0: none
  int64_t window_last;
  int64_t traced;         // numbers in the windows before
  double unwanted_share;  // share of the time before this window that the user did not want, until it has a kernel
  double unwanted;        // numbers given in such times
  // Used only by the service thread:
  uint64_t unwanted_ns;    // when recording was switched off by the user, since the last window; 0: it was not
  uint64_t window_ns;      // begin of the last window
  uint64_t window_end_ns;  // end of the last window, or begin of the recording
  uint64_t recorded_ns;    // length of the windows that have ended
  uint64_t reported;
  uint64_t reported_unwanted;
  uint64_t reported_extrapolated;
};
Passed state;

int64_t in_window() {
  return state.window_first == 0 ? 0 : state.window_last - state.window_first + 1;
}

void report_growth(gpuprof_count kind, double launches, uint64_t& reported) {
  const uint64_t sum = launches > 0 ? static_cast<uint64_t>(launches) : 0;
  if (sum > reported) {
    count(kind, sum - reported);
    reported = sum;
  }
}

}  // namespace

void begin_passed(bool attached) {
  state = {};
  state.attached = attached;
  state.window_end_ns = now_ns();
  store_relaxed(&state.counting, 1U);
}

void set_tracing(bool on) {
  const uint64_t now = now_ns();
  if (on && !tracing()) {
    state.window_ns = now;
    const uint64_t wanted_ns = (state.unwanted_ns == 0 ? now : state.unwanted_ns) - state.window_end_ns;
    const uint64_t passed_ns = now - state.window_end_ns;
    if (state.recorded_ns != 0) {
      count(GPUPROF_COUNT_PASSED_NS, wanted_ns);
    }
    if (try_lock_bounded(&state.lock)) {
      state.traced += in_window();
      state.window_first = 0;
      if (state.unwanted_ns != 0 && passed_ns != 0) {
        state.unwanted_share = 1 - static_cast<double>(wanted_ns) / static_cast<double>(passed_ns);
      }
      unlock(&state.lock);
    }
    state.unwanted_ns = 0;
  } else if (!on && tracing()) {
    state.window_end_ns = now;
    state.recorded_ns += now - state.window_ns;
    count(GPUPROF_COUNT_RECORDED_NS, now - state.window_ns);
  }
  store_relaxed(&state.tracing, on ? 1U : 0U);
}

bool tracing() {
  return load_relaxed(&state.tracing) != 0;
}

void note_traced_record() {
  add_relaxed(&state.records, uint64_t{1});
}

void note_traced_kernel(int64_t number) {
  if (number <= 0 || !try_lock_bounded(&state.lock)) {
    return;
  }
  state.window_last = state.window_first == 0 ? number : std::max(state.window_last, number);
  state.window_first = state.window_first == 0 ? number : std::min(state.window_first, number);
  if (state.first == 0 || number < state.first) {
    state.first = number;
    state.first_ns = state.first_ns == 0 ? now_ns() : state.first_ns;
  }
  if (number > state.last) {
    if (state.unwanted_share > 0 && (state.last != 0 || !state.attached)) {
      state.unwanted += state.unwanted_share * static_cast<double>(number - state.last - 1);
    }
    state.unwanted_share = 0;
    state.last = number;
    state.last_ns = now_ns();
    state.idle_ns = 0;
  }
  unlock(&state.lock);
}

void report_passed(bool last) {
  if (!counts_passed() || !try_lock_bounded(&state.lock)) {
    return;
  }
  if (!last && state.idle_ns == 0 && in_window() == 0) {
    state.idle_ns = state.window_ns;
  }
  const int64_t first = state.first;
  const int64_t newest = state.last;
  const int64_t traced = state.traced + in_window();
  const uint64_t first_ns = state.first_ns;
  const uint64_t newest_ns = state.last_ns;
  // If a window without kernels followed, the launches are assumed to have ended halfway before it, else to have gone
  // on.
  uint64_t end_ns = state.idle_ns > newest_ns ? newest_ns + (state.idle_ns - newest_ns) / 2 : now_ns();
  end_ns = state.unwanted_ns == 0 ? end_ns : std::max(newest_ns, std::min(end_ns, state.unwanted_ns));
  const double unwanted = state.unwanted;
  unlock(&state.lock);
  if (newest == 0 || traced == 0) {
    return;
  }
  const auto known = static_cast<double>(newest - first + 1);
  const double before = state.attached ? 0 : static_cast<double>(first - 1);
  const double others = known + before - static_cast<double>(traced) - unwanted;
  // Records come in batches, so the known kernels were launched in at least the time of the windows.
  const uint64_t known_ns = std::max(newest_ns - first_ns, state.recorded_ns);
  const double later =
      last && known_ns != 0 ? known * static_cast<double>(end_ns - newest_ns) / static_cast<double>(known_ns) : 0;
  // Not each launch has a number of its own: copies within a device and large fills have one, other copies and small
  // fills have none (CUDA 13.0).
  const double ratio = static_cast<double>(load_relaxed(&state.records)) / static_cast<double>(traced);
  report_growth(GPUPROF_COUNT_PASSED, (others + later) * ratio, state.reported);
  report_growth(GPUPROF_COUNT_UNWANTED, unwanted * ratio, state.reported_unwanted);
  report_growth(GPUPROF_COUNT_EXTRAPOLATED, later * ratio, state.reported_extrapolated);
}

void note_unwanted() {
  if (state.unwanted_ns == 0 && !tracing()) {
    state.unwanted_ns = now_ns();
  }
}

void end_passed() {
  report_passed(false);
  store_relaxed(&state.counting, 0U);
}

bool counts_passed() {
  return load_relaxed(&state.counting) != 0;
}

}  // namespace gpuprof::injection::cupti
