#include "cupti/windows/passed_launches.h"

#include <algorithm>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "ipc/emit.h"
#include "wire/cuda_launches.h"

namespace gpuprof::injection::cupti {
namespace {

// The numbers from the smallest to the largest one of a window.
struct Range {
  int64_t first;  // 0: none
  int64_t last;

  [[nodiscard]] int64_t size() const { return first == 0 ? 0 : last - first + 1; }
  // Returns how many numbers it has more now.
  int64_t extend(int64_t number) {
    const int64_t before = size();
    last = first == 0 ? number : std::max(last, number);
    first = first == 0 ? number : std::min(first, number);
    return size() - before;
  }
};

// Numbers of the kernels of one device. The driver numbers each device on its own.
struct Numbers {
  int64_t first;      // of the first traced kernel; 0: none
  uint64_t first_ns;  // when its record came
  int64_t last;       // of the last traced kernel; 0: none
  uint64_t last_ns;
  uint64_t idle_ns;  // begin of the first window without kernels since then; 0: none
  Range window;
  Range former;           // of the window before; its last records may come in this window
  int64_t traced;         // numbers in the windows before this one
  double unwanted_share;  // share of the time before this window that the user did not want, until it has a kernel
  double unwanted;        // numbers given in such times
};

// CUDA numbers devices from 0. Launches on devices above this limit are not counted between windows.
constexpr size_t kDevices = 128;

struct Passed {
  // Atomic:
  uint32_t counting;
  uint32_t tracing;
  uint32_t lock;
  uint64_t records;      // without those of graph nodes
  uint32_t last_launch;  // correlation id of the last launch; 0: none since CUPTI was attached
  // Guarded by the lock:
  bool attached;           // the process may have launched kernels before the recording
  uint32_t former_launch;  // last_launch at the end of the window before; 0: CUPTI was attached since then
  Numbers devices[kDevices];
  // Used only by the service thread:
  uint32_t ended_launch;   // last_launch at the end of the last window
  uint64_t begin_ns;       // begin of the recording
  uint64_t unwanted_ns;    // when recording was switched off by the user, since the last window; 0: it was not
  uint64_t window_ns;      // begin of the last window
  uint64_t window_end_ns;  // end of the last window, or begin of the recording
  uint64_t recorded_ns;    // length of the windows that have ended
  uint64_t reported;
  uint64_t reported_unwanted;
  uint64_t reported_extrapolated;
};
Passed state;

// Counts in units of the driver's numbers.
struct Estimate {
  double traced = 0;
  double others = 0;    // not traced, up to the last traced one
  double earlier = 0;   // of others: before the first traced one
  double later = 0;     // estimated after the last traced one
  double unwanted = 0;  // of others
};

Estimate estimate(const Numbers& device, bool attached, bool last) {
  Estimate result;
  if (device.last == 0) {
    return result;
  }
  result.traced = static_cast<double>(device.traced + device.window.size());
  result.unwanted = device.unwanted;
  const auto known = static_cast<double>(device.last - device.first + 1);
  result.earlier = attached ? 0 : static_cast<double>(device.first - 1);
  result.others = known + result.earlier - result.traced - result.unwanted;
  // If a window without kernels followed, the launches are assumed to have ended halfway before it, else to have gone
  // on.
  uint64_t end_ns = device.idle_ns > device.last_ns ? device.last_ns + (device.idle_ns - device.last_ns) / 2 : now_ns();
  end_ns = state.unwanted_ns == 0 ? end_ns : std::max(device.last_ns, std::min(end_ns, state.unwanted_ns));
  // Records come in batches, so the known kernels were launched in at least the time of the windows.
  const uint64_t begin_ns = attached ? device.first_ns : state.begin_ns;
  const uint64_t known_ns = std::max(device.last_ns - begin_ns, state.recorded_ns);
  if (last && known_ns != 0) {
    result.later =
        (known + result.earlier) * static_cast<double>(end_ns - device.last_ns) / static_cast<double>(known_ns);
  }
  return result;
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
  state.begin_ns = now_ns();
  state.window_end_ns = state.begin_ns;
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
      state.former_launch = state.ended_launch;
      for (Numbers& device : state.devices) {
        device.traced += device.window.size();
        device.former = device.window;
        device.window = {};
        if (state.unwanted_ns != 0 && passed_ns != 0) {
          device.unwanted_share = 1 - static_cast<double>(wanted_ns) / static_cast<double>(passed_ns);
        }
      }
      unlock(&state.lock);
    }
    state.unwanted_ns = 0;
  } else if (!on && tracing()) {
    state.ended_launch = load_relaxed(&state.last_launch);
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

void note_attached_launch(uint32_t correlation) {
  uint32_t known = 0;
  do {
    known = load_relaxed(&state.last_launch);
  } while ((known == 0 || is_earlier_launch(known, correlation)) && !swap_if(&state.last_launch, known, correlation));
}

void forget_attached_launches() {
  store_relaxed(&state.last_launch, 0U);
  state.ended_launch = 0;
}

void note_traced_kernel(uint32_t correlation, uint32_t device_number, int64_t number) {
  if (number <= 0 || device_number >= kDevices || !try_lock_bounded(&state.lock)) {
    return;
  }
  Numbers& device = state.devices[device_number];
  if (state.former_launch != 0 && !is_earlier_launch(state.former_launch, correlation)) {
    device.traced += device.former.extend(number);
  } else {
    device.window.extend(number);
  }
  if (device.first == 0 || number < device.first) {
    device.first = number;
    device.first_ns = device.first_ns == 0 ? now_ns() : device.first_ns;
  }
  if (number > device.last) {
    if (device.unwanted_share > 0 && (device.last != 0 || !state.attached)) {
      device.unwanted += device.unwanted_share * static_cast<double>(number - device.last - 1);
    }
    device.unwanted_share = 0;
    device.last = number;
    device.last_ns = now_ns();
    device.idle_ns = 0;
  }
  unlock(&state.lock);
}

void report_passed(bool last) {
  if (!counts_passed() || !try_lock_bounded(&state.lock)) {
    return;
  }
  Estimate sum;
  for (Numbers& device : state.devices) {
    if (!last && device.idle_ns == 0 && device.window.size() == 0) {
      device.idle_ns = state.window_ns;
    }
    const Estimate one = estimate(device, state.attached, last);
    sum.traced += one.traced;
    sum.others += one.others;
    sum.earlier += one.earlier;
    sum.later += one.later;
    sum.unwanted += one.unwanted;
  }
  unlock(&state.lock);
  if (sum.traced == 0) {
    return;
  }
  // Not each launch has a number of its own: copies within a device and large fills have one, other copies and small
  // fills have none (CUDA 13.0).
  const double ratio = static_cast<double>(load_relaxed(&state.records)) / sum.traced;
  report_growth(GPUPROF_COUNT_PASSED, (sum.others + sum.later) * ratio, state.reported);
  report_growth(GPUPROF_COUNT_UNWANTED, sum.unwanted * ratio, state.reported_unwanted);
  report_growth(GPUPROF_COUNT_EXTRAPOLATED, (sum.earlier + sum.later) * ratio, state.reported_extrapolated);
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
