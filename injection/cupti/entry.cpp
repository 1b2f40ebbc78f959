// InitializeInjection: called by libcuda inside the target's first cuInit.
#include "cupti/entry.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/atomics.h"
#include "cupti/devices.h"
#include "cupti/find_cupti.h"
#include "cupti/flusher.h"
#include "cupti/records.h"
#include "cupti/session.h"
#include "cupti/subscriber.h"
#include "runtime/emit.h"

extern "C" __attribute__((visibility("default"))) int InitializeInjection(void);

namespace gpuprof::injection::cupti {

Session the_session;

namespace {

// The library that the user had in CUDA_INJECTION64_PATH comes first, as if we were not there.
void call_next_injection() {
  const char* path = secure_getenv(GPUPROF_ENV_NEXT_CUDA_INJECTION);
  if (path == nullptr || path[0] == '\0') {
    return;
  }
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return;  // libcuda would have gone on without it as well
  }
  const auto next = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (next != nullptr && next != InitializeInjection) {
    next();
  }
}

void after_fork() {
  store_relaxed(&the_session.forked, 1U);
}

void at_exit() {
  if (load_relaxed(&the_session.forked) != 0 || getpid() != the_session.pid) {
    return;  // the thread that would answer is the parent's
  }
  // The wait is a cancellation point, and a thread that unwinds out of exit() ends the program with an abort.
  int cancel = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  finish_flusher();
  finish();
  pthread_setcancelstate(cancel, nullptr);
}

void emit_number(const char* key, unsigned long value) {
  char text[24];
  snprintf(text, sizeof(text), "%lu", value);
  meta(key, text);
}

// Loaded before there is a connection: the recorder reads what is mapped then.
const Library& the_library() {
  static const Library library = find_cupti(driver_version());
  return library;
}

bool load_cupti() {
  emit_number("cuda.driver_version", static_cast<unsigned long>(driver_version()));
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
  emit_number("cupti.version", version);
  meta("cupti.path", library.path);
  if (told && version < kOldestVersion) {
    char reason[200];
    snprintf(reason, sizeof(reason), "%.120s is CUPTI %u, whose records are others: CUDA 12 or later is needed",
             library.path, version);
    disable(reason);
    return false;
  }
  return true;
}

// A tool of the user's for NVTX stays where it is (src/backend/cupti), and sees the ranges in our place.
void tell_nvtx() {
  const char* tool = secure_getenv("NVTX_INJECTION64_PATH");
  if (tool != nullptr && tool[0] != '\0' && strstr(tool, "libgpuprof_cupti.so") == nullptr) {
    meta("nvtx.taken_by", tool);
  }
}

// Only one can subscribe to CUPTI. PyTorch's own profiler says so in its log only, and shows no CUDA rows.
void tell_torch() {
  void* torch = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  if (torch != nullptr) {
    dlclose(torch);
    meta("note.torch_profiler", "torch.profiler shows no CUDA rows in a process that gpuprof records");
  }
}

uint32_t taken = 0;  // atomic; there is a recording
bool exit_handled = false;

void initialize() {
  static bool called = false;
  if (called) {
    return;
  }
  called = true;
  const KeepErrno keep_errno;
  call_next_injection();
  if (!take_session()) {
    return;
  }
  const Guard guard;
  the_library();
  if (!start("cupti") || !begin_recording()) {
    leave_session();
    return;
  }
  if (!start_flusher()) {
    set_recording(false);
    disable("no thread could be started in the target");
  }
}

}  // namespace

bool take_session() {
  return !finalizing() && swap_if(&taken, 0, 1);
}

void leave_session() {
  store_release(&taken, 0U);
}

bool begin_recording() {
  the_session.pid = getpid();
  store_relaxed(&the_session.valid_records, uint64_t{0});
  store_relaxed(&the_session.valid_ns, uint64_t{0});
  on_fork_child(after_fork);
  tell_nvtx();
  if (!load_cupti() || !subscribe()) {
    return false;
  }
  tell_torch();
  // After CUPTI has been loaded, so that this runs before CUPTI's own end.
  if (!exit_handled) {
    exit_handled = true;
    atexit(at_exit);
  }
  return true;
}

void measure_clock_offset() {
  constexpr int kTries = 5;
  uint64_t best_width = UINT64_MAX;
  int64_t offset = 0;
  for (int i = 0; i < kTries; ++i) {
    uint64_t theirs = 0;
    const uint64_t before = now_ns();
    if (the_session.api.get_timestamp(&theirs) != CUPTI_SUCCESS) {
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

extern "C" int InitializeInjection(void) {
  gpuprof::injection::cupti::initialize();
  return 1;  // 0 would make libcuda treat the injection as failed
}
