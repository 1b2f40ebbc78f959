#include "cupti/vendor.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "cupti/activity/buffers.h"
#include "cupti/activity/host_records.h"
#include "cupti/activity/records.h"
#include "cupti/api/find_cupti.h"
#include "cupti/devices.h"
#include "cupti/event_handlers.h"
#include "cupti/probes/block_probes.h"
#include "cupti/sampling/pc_sampling.h"
#include "cupti/session.h"
#include "cupti/shared.h"
#include "cupti/subscriber.h"
#include "cupti/windows/passed_launches.h"
#include "ipc/emit.h"
#include "runtime/lifecycle.h"
#include "wire/cupti_faults.h"
#include "wire/wire.h"

namespace gpuprof::injection::cupti {

Session the_session;

namespace {

// Loads libcupti at the first call. Call it before connecting: at the connection, the recorder reads the process's
// mappings, and these must include libcupti.
const Library& the_library() {
  static const Library library = find_cupti(driver_version());
  return library;
}

bool load_cupti() {
  meta("cuda.driver_version", static_cast<uint64_t>(driver_version()));
  const Library& library = the_library();
  if (library.handle == nullptr) {
    disable(
        "no libcupti.so.13 or .12 found: set GPUPROF_CUPTI_PATH to its folder, or install it (pip install "
        "nvidia-cuda-cupti, or the CUDA toolkit)");
    return false;
  }
  if (const char* missing = bind(library.handle, &the_session.api); missing != nullptr) {
    char reason[200];
    snprintf(reason, sizeof(reason), "%.140s has no %s: CUDA 12 or later is needed", library.path, missing);
    disable(reason);
    return false;
  }
  uint32_t version = 0;
  const bool told = the_session.api.get_version(&version) == CUPTI_SUCCESS;
  meta("cupti.version", uint64_t{version});
  meta("cupti.path", library.path);
  if (told && version < kOldestVersion) {
    char reason[200];
    snprintf(reason, sizeof(reason),
             "%.120s is CUPTI %u, whose record format is not supported: CUDA 12 or later is needed", library.path,
             version);
    disable(reason);
    return false;
  }
  return true;
}

// Reports known faults of this CUPTI that can affect the recording.
void report_faults() {
  uint32_t version = 0;
  the_session.api.get_version(&version);
  char text[800];
  int length = 0;
  for (const CuptiFault& fault : kCuptiFaults) {
    const bool concerns = fault.options == 0 || wants(fault.options);
    if (has_fault(version, fault) && concerns && length < static_cast<int>(sizeof(text))) {
      length += snprintf(text + length, sizeof(text) - static_cast<size_t>(length), "%s%s", length == 0 ? "" : "; ",
                         fault.text);
    }
  }
  if (length > 0) {
    meta("faults", text);
  }
}

// Reports that the user has set an NVTX tool. That tool gets the ranges, and gpuprof gets none. (src/backend/cupti does
// not replace the user's tool.)
void report_nvtx() {
  const char* tool = secure_getenv("NVTX_INJECTION64_PATH");
  if (tool != nullptr && tool[0] != '\0' && strstr(tool, "libgpuprof_cupti.so") == nullptr) {
    meta("nvtx.taken_by", tool);
  }
}

// Reports that the process may use torch.profiler, which cannot subscribe to CUPTI next to gpuprof. torch.profiler only
// logs this and shows no CUDA rows.
void report_torch() {
  void* torch = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  if (torch != nullptr) {
    dlclose(torch);
    meta("note.torch_profiler", "torch.profiler shows no CUDA rows in a process that gpuprof records");
  }
}

bool begin(bool attached) {
  store_relaxed(&the_session.devices_named, 0U);
  store_relaxed(&the_session.valid_records, uint64_t{0});
  store_relaxed(&the_session.valid_ns, uint64_t{0});
  report_nvtx();
  if (!load_cupti() || !subscribe()) {
    return false;
  }
  report_torch();
  report_faults();
  if (attached) {
    meta("nvtx.missing", "the program was already running: NVTX loads a tool only at a program's first range");
  }
  return true;
}

// Flushes CUPTI. The last flush is forced, so it also delivers records of unfinished work, without an end time.
void flush(bool last) {
  if (finalized()) {
    return;
  }
  if (last) {
    store_relaxed(&the_session.ending, 1U);
  }
  if (the_session.convert_clock) {
    measure_clock_offset();
  }
  the_session.api.flush_all(last ? uint32_t{CUPTI_ACTIVITY_FLAG_FLUSH_FORCED} : 0);
  // on_buffer_completed() does not run if CUPTI has dropped all records, because CUPTI then returns no buffer.
  count_dropped();
  if (last) {
    end_handlers(true);
  } else {
    flush_handlers();
  }
}

void first_work() {
  emit_devices();
  enable_unified_memory();
}

void report_totals() {
  report_passed(true);
  meta("cupti.valid_records", load_relaxed(&the_session.valid_records));
  meta("cupti.valid_ns", load_relaxed(&the_session.valid_ns));
  report_sampling_totals();
  report_probes();
}

// Detaches CUPTI, which works only in the callback at the end of a driver call. So this makes a driver call itself: the
// target may never make another one, and a call of the target would be delayed by about 2 s.
void detach() {
  request_finalize(true);
  report_totals();
  if (!finish_finalize()) {
    meta("cupti.retracted", "CUPTI detaches at the process's next driver call");
  }
  free_spare_buffers();
}

constexpr Vendor::Flush kFlush = {
    .library = "CUPTI",
    .pace_variable = GPUPROF_ENV_CUPTI_FLUSH_MS,
    .flush = flush,
    .first_work = first_work,
    .set_recording = set_recording,
    .complete_pause = complete_pause,
    .note_unwanted = note_unwanted,
    .totals = report_totals,
    .detach = detach,
};

constexpr Vendor kVendor = {
    .name = "cupti",
    .load = [] { the_library(); },
    .subscribe = begin,
    .forked = nullptr,
    .exiting = nullptr,
    .works_in_forked_child = false,
    .flush = &kFlush,
};

}  // namespace

const Vendor& vendor() {
  return kVendor;
}

void measure_clock_offset() {
  constexpr int kTries = 5;
  uint64_t best_width = UINT64_MAX;
  int64_t offset = 0;
  for (int i = 0; i < kTries; ++i) {
    uint64_t theirs = 0;
    const uint64_t before = now_ns();
    if (cupti_time(&theirs) != CUPTI_SUCCESS) {
      return;
    }
    const uint64_t width = now_ns() - before;
    if (width < best_width) {
      best_width = width;
      offset = static_cast<int64_t>(before + width / 2 - theirs);
    }
  }
  store_relaxed(&the_session.clock_offset_ns, offset);
}

}  // namespace gpuprof::injection::cupti
