// A libcuda.so.1 without a GPU: the part of the driver API that mock_cuda_app needs, with the real driver's rules.
// cuInit loads the injection library. A forked child is refused. Work on a stream runs in order.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <sstream>
#include <string>

#include "mock_driver.h"
#include "mock_faults.h"

namespace gpuprof::mock {
namespace {

constexpr int kMaxDepth = 8;
constexpr uint32_t kInternalStreams = 1000;  // graphs run their nodes on streams with ids above this

thread_local CUctx_st* thread_context = nullptr;
thread_local uint32_t thread_correlation = 0;
thread_local int call_depth = 0;
thread_local bool waits_allocate = false;  // see MOCK_LOAD_ALLOCATES in cuModuleLoadData()
thread_local uint64_t correlation_data[kMaxDepth] = {};

thread_local uint32_t outer_correlations[kMaxDepth] = {};  // of the calls around the one of each depth

uint64_t* data_of_depth(int depth) {
  return &correlation_data[std::min(depth, kMaxDepth - 1)];
}

void load_injection() {
  const char* path = getenv("CUDA_INJECTION64_PATH");
  void* library = path != nullptr ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : nullptr;
  if (library == nullptr) {
    return;
  }
  if (const auto entry = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")); entry != nullptr) {
    entry();
  }
}

CUresult wait_for(const CUstream_st* only) {
  uint64_t until = 0;
  {
    const std::lock_guard lock(driver().mutex);
    for (const auto& stream : driver().streams) {
      if ((only == nullptr && stream->context == current_context()) || stream.get() == only) {
        until = std::max(until, stream->free_at_ns);
      }
    }
  }
  sleep_until(until);
  return CUDA_SUCCESS;
}

CUstream_st* add_stream(CUctx_st* context, uint32_t id) {
  driver().streams.push_back(std::make_unique<CUstream_st>(CUstream_st{id, context, 0, nullptr}));
  return driver().streams.back().get();
}

void tell(ContextEvent event, CUcontext context) {
  if (const Tracer* tracer = driver().tracer; tracer != nullptr) {
    tracer->context(event, context);
  }
}

}  // namespace

Driver& driver() {
  static auto* the_driver = new Driver;  // never destroyed: used until the process ends
  return *the_driver;
}

int device_count() {
  const char* text = getenv("MOCK_CUDA_DEVICES");
  const int wanted = text != nullptr ? atoi(text) : 0;
  return wanted >= 1 && wanted <= 64 ? wanted : 2;
}

uint64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}

bool usable() {
  return driver().pid == getpid();
}

CUctx_st* current_context() {
  return thread_context;
}

void set_current_context(CUctx_st* context) {
  thread_context = context;
}

uint32_t current_correlation() {
  return thread_correlation;
}

void sleep_until(uint64_t when) {
  const timespec until = {static_cast<time_t>(when / 1000000000ULL), static_cast<long>(when % 1000000000ULL)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

namespace {

std::map<std::string, uint64_t> slow_calls() {
  std::map<std::string, uint64_t> calls;
  const char* text = getenv("MOCK_SLOW_CALLS");
  std::istringstream list(text == nullptr ? "" : text);
  for (std::string name; std::getline(list, name, '=');) {
    std::string microseconds;
    std::getline(list, microseconds, ',');
    calls[name] = strtoull(microseconds.c_str(), nullptr, 10) * 1000;
  }
  return calls;
}

}  // namespace

void slow_down(const char* function) {
  static const auto* calls = new std::map<std::string, uint64_t>(slow_calls());
  if (calls->empty()) {
    return;
  }
  if (const auto call = calls->find(function); call != calls->end()) {
    sleep_until(now_ns() + call->second);
  }
}

CUstream_st* stream_of(CUstream stream) {
  if (stream != nullptr) {
    return stream;
  }
  for (const auto& candidate : driver().streams) {
    if (candidate->context == thread_context) {
      return candidate.get();
    }
  }
  return nullptr;
}

// CUDA's driver numbers copies within a device and large fills, too.
bool is_numbered(OpKind kind, const Op& op) {
  constexpr uint64_t kLargeFill = 64 << 10;
  return op.graph_node == 0 && (kind == OpKind::kernel || (kind == OpKind::fill && op.bytes >= kLargeFill) ||
                                (kind == OpKind::copy && op.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD));
}

Op run(CUstream_st* stream, OpKind kind, uint64_t ns, Op op) {
  const Tracer* tracer = driver().tracer;
  {
    const std::lock_guard lock(driver().mutex);
    op.kind = kind;
    op.queued_ns = now_ns();
    op.start_ns = std::max(op.queued_ns + kSubmitNs, stream->free_at_ns);
    op.submitted_ns = op.start_ns - kSubmitNs;
    op.end_ns = op.start_ns + ns;
    op.device = static_cast<uint32_t>(stream->context->device);
    op.context = stream->context->id;
    op.stream = op.graph_node == 0 ? stream->id : stream->id + kInternalStreams;
    op.correlation = op.of_body ? 0 : thread_correlation;
    stream->free_at_ns = op.end_ns;
    op.number = is_numbered(kind, op) ? ++driver().numbered[op.device] : 0;
  }
  if (tracer != nullptr) {
    tracer->op(op);
  }
  return op;
}

CUresult put(CUstream stream, OpKind kind, uint64_t ns, Op op) {
  CUstream_st* on = stream;
  if (on == nullptr) {
    const std::lock_guard lock(driver().mutex);
    on = stream_of(stream);
  }
  if (thread_context == nullptr || on == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (on->capturing != nullptr) {
    add_node(on->capturing, kind, op.name, ns, op);
    return CUDA_SUCCESS;
  }
  run(on, kind, ns, op);
  return CUDA_SUCCESS;
}

}  // namespace gpuprof::mock

using namespace gpuprof::mock;

namespace {

CUresult retain(CUcontext* context, CUdevice device) {
  Driver& d = driver();
  const std::lock_guard making(d.making_context);
  std::unique_lock lock(d.mutex);
  for (const auto& existing : d.contexts) {
    if (existing->device == device) {
      *context = existing.get();
      return CUDA_SUCCESS;
    }
  }
  d.contexts.push_back(std::make_unique<CUctx_st>(CUctx_st{++d.last_context, device}));
  *context = d.contexts.back().get();
  add_stream(*context, 7);
  lock.unlock();
  tell(ContextEvent::created, *context);
  return CUDA_SUCCESS;
}

// Destroys the contexts of a device. Like the real driver, it waits for their work, whose records may be written later.
CUresult reset(CUdevice device) {
  Driver& d = driver();
  uint64_t until = 0;
  for (const auto& stream : d.streams) {
    until = stream->context->device == device ? std::max(until, stream->free_at_ns) : until;
  }
  sleep_until(until);
  for (const auto& context : d.contexts) {
    if (context->device == device) {
      tell(ContextEvent::destroying, context.get());
    }
  }
  const std::lock_guard lock(d.mutex);
  std::erase_if(d.streams, [&](const auto& stream) { return stream->context->device == device; });
  std::erase_if(d.contexts, [&](const auto& context) { return context->device == device; });
  thread_context = nullptr;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult mock_cuda_set_tracer(const Tracer* tracer) {
  driver().tracer = tracer;
  if (tracer == nullptr) {
    driver().last_correlation = 0;  // as after cuptiFinalize
  }
  return CUDA_SUCCESS;
}

// Begins an API call and returns its correlation id. Nested calls have the correlation id of the outermost call.
uint32_t mock_cuda_enter(Domain domain, uint32_t id, const char* name, const char* symbol, const void* params) {
  uint64_t* data = data_of_depth(call_depth);
  outer_correlations[std::min(call_depth, kMaxDepth - 1)] = thread_correlation;
  if (call_depth++ == 0 || faults().nested_correlation) {
    const uint32_t number = ++driver().last_correlation;
    const uint64_t repeat = faults().repeat_correlation;
    thread_correlation = repeat == 0 ? number : static_cast<uint32_t>(number % repeat + 1);
  }
  if (const Tracer* tracer = driver().tracer; tracer != nullptr) {
    tracer->call({domain, id, name, symbol, thread_context, params, thread_correlation, 0, data}, Site::enter);
  }
  return thread_correlation;
}

void mock_cuda_exit(Domain domain, uint32_t id, const char* name, const char* symbol, int result, const void* params) {
  --call_depth;
  if (const Tracer* tracer = driver().tracer; tracer != nullptr) {
    tracer->call(
        {domain, id, name, symbol, thread_context, params, thread_correlation, result, data_of_depth(call_depth)},
        Site::exit);
  }
  if (call_depth > 0) {
    thread_correlation = outer_correlations[std::min(call_depth, kMaxDepth - 1)];
  }
}

CUresult mock_cuda_wait_and_allocate() {
  waits_allocate = true;
  const CUresult result = cuCtxSynchronize();
  waits_allocate = false;
  return result;
}

bool mock_cuda_ready() {
  return driver().ready;
}

CUresult cuInit(unsigned int flags) {
  Driver& d = driver();
  if (flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (d.pid != 0) {
    return usable() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
  }
  d.pid = getpid();
  d.last_correlation = static_cast<uint32_t>(faults().first_correlation - 1);
  load_injection();
  d.ready = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  return MOCK_CALL(cuDriverGetVersion, nullptr, [&] {
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetCount(int* count) {
  if (!usable()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  *count = device_count();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!usable()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  if (ordinal < 0 || ordinal >= device_count()) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  snprintf(name, static_cast<size_t>(length), "Mock GPU %d", device);
  return usable() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

// The UUID is the same in every process: 00 01 02 ... with the device number last.
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  for (int i = 0; i < 16; ++i) {
    uuid->bytes[i] = static_cast<char>(i);
  }
  uuid->bytes[15] = static_cast<char>(0xF0 + device);
  return usable() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return MOCK_CALL(cuDevicePrimaryCtxRetain, nullptr, [&] { return retain(context, device); });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  if (!usable()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  return MOCK_CALL(cuDevicePrimaryCtxReset_v2, nullptr, [device] { return reset(device); });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  set_current_context(context);
  return usable() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuCtxSynchronize() {
  return MOCK_CALL(cuCtxSynchronize, nullptr, [] {
    if (CUdeviceptr memory = 0; waits_allocate && cuMemAlloc(&memory, 64) == CUDA_SUCCESS) {
      cuMemFree(memory);
    }
    return wait_for(nullptr);
  });
}

CUresult cuStreamCreate(CUstream* stream, unsigned int /*flags*/) {
  if (!usable() || current_context() == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  const std::lock_guard lock(driver().mutex);
  *stream = add_stream(current_context(), ++driver().last_stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  const cuStreamSynchronize_params params = {stream};
  return MOCK_CALL_WITH(cuStreamSynchronize, &params, [&] { return wait_for(stream_of(stream)); });
}

uint32_t mock_cuda_stream_id(CUcontext context, CUstream stream) {
  const std::lock_guard lock(driver().mutex);
  for (const auto& candidate : driver().streams) {
    if (stream == nullptr ? candidate->context == context : candidate.get() == stream) {
      return candidate->id;
    }
  }
  return 0;
}

bool mock_cuda_context(CUcontext context, uint32_t* id, uint32_t* device) {
  const std::lock_guard lock(driver().mutex);
  for (const auto& candidate : driver().contexts) {
    if (candidate.get() == context) {
      *id = context->id;
      *device = static_cast<uint32_t>(context->device);
      return true;
    }
  }
  return false;
}

CUresult cuEventCreate(CUevent* event, unsigned int /*flags*/) {
  *event = new CUevent_st{0};
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return MOCK_CALL(cuEventRecord, nullptr, [&] {
    const std::lock_guard lock(driver().mutex);
    event->at_ns = stream_of(stream)->free_at_ns;
    return CUDA_SUCCESS;
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return MOCK_CALL(cuEventSynchronize, nullptr, [&] {
    sleep_until(event->at_ns);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
