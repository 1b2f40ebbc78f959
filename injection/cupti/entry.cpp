// Entry points of the library: one for processes that gpuprof starts, one for running processes (record -p).
#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>

#include "base/keep_errno.h"
#include "cupti/subscriber.h"
#include "cupti/vendor.h"
#include "runtime/recording.h"
#include "wire/wire.h"

// Called by libcuda in the target's first cuInit.
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void);

// For `record -p`: a thread of the target calls it for the recorder. See injection::attach().
extern "C" __attribute__((visibility("default"))) int gpuprof_attach(const char* socket, const char* token,
                                                                     unsigned user);

namespace gpuprof::injection::cupti {
namespace {

// First loads the library from the user's CUDA_INJECTION64_PATH, as libcuda would have done.
void call_next_injection() {
  const char* path = secure_getenv(GPUPROF_ENV_NEXT_CUDA_INJECTION);
  if (path == nullptr || path[0] == '\0') {
    return;
  }
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return;  // libcuda also continues if it cannot load that library
  }
  const auto next = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (next != nullptr && next != InitializeInjection) {
    next();
  }
}

void initialize() {
  static bool called = false;
  if (called) {
    return;
  }
  called = true;
  const KeepErrno keep_errno;
  call_next_injection();
  if (!finalizing()) {
    begin_recording(vendor());
  }
}

}  // namespace
}  // namespace gpuprof::injection::cupti

extern "C" int InitializeInjection(void) {
  gpuprof::injection::cupti::initialize();
  return 1;  // 0 would make libcuda treat the injection as failed
}

extern "C" int gpuprof_attach(const char* socket, const char* token, unsigned user) {
  using namespace gpuprof::injection;
  using namespace gpuprof::injection::cupti;
  const KeepErrno keep_errno;
  return finalizing() && !in_fork() ? EBUSY : attach(vendor(), socket, token, user);
}
