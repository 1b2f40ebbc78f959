// PTX on the mock GPU, and the functions of the driver that only probes call. The mock GPU has kSms SMs, on each of
// which kBlocksOnSm blocks run at the same time. All blocks of a launch take equally long.
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "mock_driver.h"

using namespace gpuprof::mock;

namespace {

constexpr uint32_t kSms = 4;
constexpr uint32_t kBlocksOnSm = 2;
constexpr uint64_t kKernelNs = 400000;
constexpr int kArchitecture = 90;
constexpr const char* kProbedSuffix = "__gpuprof";

struct BlockTimes {
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t sm;
  uint32_t block;
  uint64_t grid;
};

bool is_probed(const std::string& name) {
  return name.ends_with(kProbedSuffix);
}

// The sum of the first arguments of all launches, by which a program checks that it launched with its own arguments.
uint64_t argument_sum = 0;

void write_blocks(const Op& op, const cuLaunchKernel_params& launch, CUdeviceptr to) {
  auto* times = reinterpret_cast<BlockTimes*>(device_bytes(to));
  const uint64_t blocks = uint64_t{launch.gridDimX} * launch.gridDimY * launch.gridDimZ;
  const uint64_t at_once = kSms * kBlocksOnSm;
  const uint64_t ns = (op.end_ns - op.start_ns) / ((blocks + at_once - 1) / at_once);
  for (uint64_t i = 0; times != nullptr && i < blocks; ++i) {
    const uint64_t start = op.start_ns + i / at_once * ns;
    times[i] = {start, start + ns, static_cast<uint32_t>(i % kSms), static_cast<uint32_t>(i), op.number};
  }
}

struct Link {
  std::string text;
};

}  // namespace

char* gpuprof::mock::device_bytes(CUdeviceptr address) {
  static auto* memory = new std::map<CUdeviceptr, char*>;
  const std::lock_guard lock(driver().mutex);
  auto next = driver().allocations.upper_bound(address);
  if (next == driver().allocations.begin()) {
    return nullptr;
  }
  const auto& [base, op] = *--next;
  if (address - base >= op.bytes) {
    return nullptr;
  }
  char*& bytes = (*memory)[base];
  if (bytes == nullptr) {
    bytes = static_cast<char*>(calloc(1, op.bytes));
  }
  return bytes + (address - base);
}

void gpuprof::mock::read_ptx(const std::string& text, CUmod_st* module) {
  constexpr const char* kEntry = ".entry ";
  for (size_t at = text.find(kEntry); at != std::string::npos; at = text.find(kEntry, at + 1)) {
    const size_t open = text.find('(', at);
    const size_t close = text.find(')', open);
    std::string name = text.substr(at + strlen(kEntry), open - at - strlen(kEntry));
    name.erase(name.find_last_not_of(" \t\n") + 1);
    size_t params = 0;
    for (size_t i = text.find(".param", open); i < close; i = text.find(".param", i + 1)) {
      ++params;
    }
    module->functions[name] = std::make_unique<CUfunc_st>(CUfunc_st{keep_name(name), kKernelNs, module, params});
  }
}

CUresult gpuprof::mock::run_ptx(CUfunction function, const cuLaunchKernel_params& launch) {
  argument_sum += *static_cast<const uint64_t*>(launch.kernelParams[0]);
  Op op = {};
  op.name = function->name;
  op.module = function->module->id;
  CUstream_st* stream = stream_of(launch.hStream);
  if (stream->capturing != nullptr) {
    return put(launch.hStream, OpKind::kernel, function->ns, op);
  }
  op = run(stream, OpKind::kernel, function->ns, op);
  if (is_probed(function->name)) {
    write_blocks(op, launch, *static_cast<const CUdeviceptr*>(launch.kernelParams[function->params - 1]));
  }
  return CUDA_SUCCESS;
}

extern "C" {

uint64_t mock_cuda_argument_sum() {
  return argument_sum;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? kArchitecture / 10
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? kArchitecture % 10
                                                                       : static_cast<int>(kSms);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = current_context()->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  set_current_context(context);
  return CUDA_SUCCESS;
}

// The mock's stack of contexts has one place.
CUresult cuCtxPopCurrent(CUcontext* context) {
  *context = current_context();
  return CUDA_SUCCESS;
}

CUresult cuLinkCreate(unsigned int, CUjit_option*, void**, CUlinkState* state) {
  *state = reinterpret_cast<CUlinkState>(new Link);
  return CUDA_SUCCESS;
}

// Refuses PTX that contains "MOCK_REFUSE_PTX".
CUresult cuLinkAddData(CUlinkState state, CUjitInputType, void* data, size_t, const char*, unsigned int, CUjit_option*,
                       void**) {
  reinterpret_cast<Link*>(state)->text = static_cast<const char*>(data);
  return strstr(static_cast<const char*>(data), "MOCK_REFUSE_PTX") == nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

CUresult cuLinkComplete(CUlinkState state, void** cubin, size_t* size) {
  std::string& text = reinterpret_cast<Link*>(state)->text;
  *cubin = text.data();
  *size = text.size() + 1;
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  delete reinterpret_cast<Link*>(state);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  *module = function->module;
  return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  *value = 48 << 10;
  return CUDA_SUCCESS;
}

// No kernel has more than 64 KiB of dynamic shared memory, and a probed copy has 16 bytes less.
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  const int most = (64 << 10) - (is_probed(function->name) ? 16 : 0);
  return attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value > most ? CUDA_ERROR_INVALID_VALUE
                                                                                      : CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  *offset = 8 * index;
  *size = 8;
  return index < function->params ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int, size_t) {
  *blocks = is_probed(function->name) && getenv("MOCK_PROBE_OCCUPANCY") != nullptr ? 1 : static_cast<int>(kBlocksOnSm);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int) {
  return cuStreamCreate(stream, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) {
  return CUDA_SUCCESS;
}

}  // extern "C"
