#include "opencl/extensions.h"

#include <cstdio>

#include "base/atomics.h"
#include "base/keep_errno.h"
#include "ipc/emit.h"
#include "runtime/lifecycle.h"

// unknown_calls_x86_64.S and unknown_calls_aarch64.S have the stubs. Stub i counts a call in gpuprof_unknown_calls[i]
// and jumps to gpuprof_unknown_functions[i].
extern "C" {
constexpr uint32_t kStubs = 64;
constexpr size_t kStubBytes = 32;
extern const char gpuprof_unknown_stubs[kStubs * kStubBytes];
constinit void* gpuprof_unknown_functions[kStubs] = {};
constinit uint64_t gpuprof_unknown_calls[kStubs] = {};
}

namespace gpuprof::injection::opencl {
namespace {

struct Unknown {
  char function[64] = "";
  uint64_t reported = 0;  // number of calls that were already counted as lost work or ignored
  uint32_t noted_to = 0;  // id of the source that has emitted the note about this function
};

constinit Unknown unknown[kStubs];
constinit uint32_t unknown_count = 0;
constinit uint32_t lock = 0;

// Returns whether a function puts no work on a device. As in the dispatch table, markers, barriers, migrations and the
// exchange of objects with other interfaces are not work.
bool is_harmless(const char* function) {
  const char* prefix =
      "clGet clCreate clRetain clRelease clSet clIcd clFinalize clCommandBarrier clUpdateMutable clImport clReImport "
      "clUnload clTerminate clLog clRemap clFinish clFlush clWait clBuild clCompile clLink clHostMemAlloc "
      "clDeviceMemAlloc clSharedMemAlloc clMemFree clMemBlockingFree "
      "clSVMAlloc clSVMFree clEnqueueMigrate clEnqueueMemAdvise clEnqueueAcquire clEnqueueRelease clEnqueueWait "
      "clEnqueueSignal clEnqueueMarker clEnqueueBarrier clEnqueueSVMFree clEnqueueSVMMap clEnqueueSVMUnmap ";
  for (size_t length = 0; *prefix != '\0'; prefix += length + 1) {
    length = strcspn(prefix, " ");
    if (strncmp(function, prefix, length) == 0) {
      return true;
    }
  }
  return false;
}

// Returns a function that counts its calls and calls the driver's function. If too many functions are counted already,
// returns the driver's function.
void* counted(const char* function, void* driver) {
  if (!try_lock_bounded(&lock)) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return driver;
  }
  uint32_t i = 0;
  while (i < unknown_count && gpuprof_unknown_functions[i] != driver) {
    ++i;
  }
  if (i == unknown_count && i < kStubs) {
    gpuprof_unknown_functions[i] = driver;
    snprintf(unknown[i].function, sizeof(unknown[i].function), "%s", function);
    store_release(&unknown_count, i + 1);
  }
  unlock(&lock);
  if (i == kStubs) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return driver;
  }
  return const_cast<char*>(gpuprof_unknown_stubs + i * kStubBytes);
}

// Returns the function to give to the user. A hook can call only one driver's function. So if a second driver has the
// same function, its calls are only counted.
void* replaced(const char* function, void* driver) {
  if (function == nullptr || driver == nullptr) {
    return driver;
  }
  const KeepErrno keep_errno;
  for (const auto find : {command_buffer_extension, copy_extension, memory_extension}) {
    const Extension known = find(function);
    void* none = nullptr;
    if (known.hook != nullptr &&
        (__atomic_compare_exchange_n(known.driver, &none, driver, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
         none == driver)) {
      return known.hook;
    }
  }
  return is_harmless(function) ? driver : counted(function, driver);
}

void* CL_API_CALL get_address(const char* function) {
  return replaced(function, target.clGetExtensionFunctionAddress(function));
}

void* CL_API_CALL get_address_for_platform(cl_platform_id platform, const char* function) {
  return replaced(function, target.clGetExtensionFunctionAddressForPlatform(platform, function));
}

}  // namespace

void report_unknown_calls(bool recording) {
  const uint32_t count = load_acquire(&unknown_count);
  for (uint32_t i = 0; i < count; ++i) {
    Unknown& function = unknown[i];
    const uint64_t calls = load_relaxed(&gpuprof_unknown_calls[i]);
    if (!recording) {
      store_relaxed(&function.reported, calls);
    }
    uint64_t before = load_relaxed(&function.reported);
    if (calls <= before ||
        !__atomic_compare_exchange_n(&function.reported, &before, calls, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      continue;
    }
    lost(GPUPROF_LOSS_UNKNOWN_FUNCTION, calls - before);
    if (load_relaxed(&function.noted_to) != source()) {
      store_relaxed(&function.noted_to, source());
      char key[96];
      char text[160];
      snprintf(key, sizeof(key), "note.opencl.%.63s", function.function);
      snprintf(text, sizeof(text),
               "the target calls the OpenCL extension function %.63s, whose work gpuprof does not record",
               function.function);
      meta(key, text);
    }
  }
}

void hook_extensions(cl_icd_dispatch& table) {
  GPUPROF_HOOK(table, clGetExtensionFunctionAddress, get_address);
  GPUPROF_HOOK(table, clGetExtensionFunctionAddressForPlatform, get_address_for_platform);
}

}  // namespace gpuprof::injection::opencl
