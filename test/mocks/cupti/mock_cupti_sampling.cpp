// PC sampling with the real library's rules. Sampling is enabled first, then configured, then read. Each struct and
// each of its PCs states its size. Samples arrive some time after they were taken. After a full buffer there are no
// samples until sampling is disabled and enabled again. If kernels are serialized, only those launched in a range are
// sampled, their samples carry the correlation id, and nothing can be read while a range is open.
#include "mock_cupti_sampling.h"

#include <cupti_pcsampling.h>
#include <cupti_version.h>
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "mock_cupti_buffers.h"
#include "mock_faults.h"

namespace mock = gpuprof::mock;

namespace {

constexpr uint32_t kDefaultPeriod = 11;  // log2 of the period in cycles
constexpr uint64_t kLateNs = 20000000;
constexpr size_t kLeastScratch = size_t{1} << 20;
constexpr uint32_t kOldPcVersion = 22;  // since this version CUpti_PCSamplingPCData has a correlation id

// The "not issued" variant of each reason has the next value.
enum Reason : uint32_t { kLongScoreboard = 1, kBarrier = 3, kSelected = 5 };
constexpr const char* kReasons[] = {
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard", "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
    "smsp__pcsamp_warps_issue_stalled_barrier",         "smsp__pcsamp_warps_issue_stalled_barrier_not_issued",
    "smsp__pcsamp_warps_issue_stalled_selected",        "smsp__pcsamp_warps_issue_stalled_selected_not_issued"};
constexpr size_t kReasonCount = std::size(kReasons);
using Counts = std::array<uint32_t, kReasonCount + 1>;  // indexed by reason, starting with 1

struct Place {
  uint64_t offset;
  Reason reason;
  uint64_t (*share)(uint64_t samples);
};
constexpr Place kPlaces[] = {{0x10, kLongScoreboard, [](uint64_t samples) { return samples / 2; }},
                             {0x10, kBarrier, [](uint64_t samples) { return samples - samples / 2 - samples / 4; }},
                             {0x90, kSelected, [](uint64_t samples) { return samples / 4; }}};

struct Taken {
  uint64_t end_ns;
  uint32_t correlation;  // 0 if unknown
  uint64_t crc;
  char* function;  // null for a location outside the program's code
  uint64_t samples;
  bool dropped;
};

using Pc = std::tuple<uint64_t, char*, uint64_t, uint32_t>;  // code, function, offset, correlation id

struct Sampler {
  bool enabled = false;
  bool full = false;
  bool serialized = false;
  bool ranges = false;  // only launches inside a range are sampled
  bool in_range = false;
  CUpti_PCSamplingData* rest = nullptr;
  uint32_t period = kDefaultPeriod;
  std::deque<Taken> taken;
  std::map<Pc, Counts> ready;
  uint64_t dropped = 0;
  uint64_t foreign = 0;
  uint64_t kernels = 0;
  uint64_t readings = 0;
  uint64_t all = 0;  // samples taken since sampling was enabled
};

struct Sampling {
  std::mutex mutex;
  std::map<uint32_t, Sampler> samplers;                         // key: context id
  std::map<uint32_t, uint64_t> code;                            // CRC of the code, by module id
  std::map<std::pair<uint32_t, std::string>, char*> functions;  // one entry per name and module load
};

Sampling& sampling() {
  static auto* the_sampling = new Sampling;
  return *the_sampling;
}
// Created when the library is loaded: a launch that waits for the creation could change errno.
[[maybe_unused]] const Sampling& made_at_load = sampling();

uint64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t crc_of(const void* bytes, size_t size) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  uint32_t crc = ~0U;
  for (size_t i = 0; i < size; ++i) {
    crc ^= at[i];
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (0xEDB88320U & (0U - (crc & 1U)));
    }
  }
  return ~crc;
}

size_t pc_bytes() {
  const uint64_t old = mock::faults().old_version;
  return old != 0 && old < kOldPcVersion ? offsetof(CUpti_PCSamplingPCData, correlationId)
                                         : sizeof(CUpti_PCSamplingPCData);
}

// Returns null if the context does not exist or its sampling is not enabled.
Sampler* enabled_sampler(CUcontext context) {
  uint32_t id = 0;
  uint32_t device = 0;
  if (!mock::context_of(context, &id, &device)) {
    return nullptr;
  }
  Sampler& sampler = sampling().samplers[id];
  return sampler.enabled ? &sampler : nullptr;
}

bool capturing() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) {
    return false;
  }
  const auto look = reinterpret_cast<decltype(&mock_cuda_captures)>(dlsym(driver, "mock_cuda_captures"));
  dlclose(driver);
  return look != nullptr && look() != 0;
}

void must_be_readable(const Sampler& sampler) {
  if (sampler.in_range) {
    mock::violation("samples are read, or sampling disabled, while a range is open");
  }
}

void make_ready(Sampler& sampler, const Taken& taken) {
  sampler.all += taken.samples;
  if (taken.dropped || sampler.full) {
    sampler.dropped += taken.samples;
    return;
  }
  if (taken.function == nullptr) {
    sampler.foreign += taken.samples;
    return;
  }
  for (const Place& place : kPlaces) {
    const auto samples = static_cast<uint32_t>(place.share(taken.samples));
    if (samples > 0) {
      Counts& counts = sampler.ready[{taken.crc, taken.function, place.offset, taken.correlation}];
      counts[place.reason] += samples;
      counts[place.reason + 1] += samples / 2;
    }
  }
}

void collect(Sampler& sampler, uint64_t until_ns) {
  std::deque<Taken> later;
  for (const Taken& taken : sampler.taken) {
    if (taken.end_ns <= until_ns) {
      make_ready(sampler, taken);
    } else {
      later.push_back(taken);
    }
  }
  sampler.taken.swap(later);
}

uint64_t samples_of(const Counts& counts) {
  return uint64_t{counts[kLongScoreboard]} + counts[kBarrier] + counts[kSelected];
}

void check_room(const CUpti_PCSamplingData& data) {
  if (data.size != sizeof(CUpti_PCSamplingData) || data.collectNumPcs == 0 || data.pPcData == nullptr) {
    mock::violation("a CUpti_PCSamplingData that is not set up");
  }
}

void fill(CUpti_PCSamplingPCData* pc, const Pc& place, const Counts& counts) {
  if (pc->size != pc_bytes() || pc->stallReason == nullptr) {
    mock::violation("a CUpti_PCSamplingPCData that is not set up, or of another CUPTI");
  }
  pc->cubinCrc = std::get<0>(place);
  pc->functionName = std::get<1>(place);
  pc->pcOffset = std::get<2>(place);
  if (pc->size == sizeof(*pc)) {
    pc->correlationId = std::get<3>(place);
  }
  pc->stallReasonCount = 0;
  for (uint32_t index = 1; index <= kReasonCount; ++index) {
    if (counts[index] > 0) {
      pc->stallReason[pc->stallReasonCount++] = {index, counts[index]};
    }
  }
}

void hand_out(Sampler& sampler, CUpti_PCSamplingData* data, size_t most) {
  check_room(*data);
  data->totalNumPcs = 0;
  data->totalSamples = sampler.dropped + sampler.foreign;
  data->droppedSamples = sampler.dropped;
  data->nonUsrKernelsTotalSamples = sampler.foreign;
  data->hardwareBufferFull = 0;
  sampler.dropped = 0;
  sampler.foreign = 0;
  auto* at = reinterpret_cast<uint8_t*>(data->pPcData);
  while (!sampler.ready.empty() && data->totalNumPcs < most && data->totalNumPcs < data->collectNumPcs) {
    const auto& [place, counts] = *sampler.ready.begin();
    fill(reinterpret_cast<CUpti_PCSamplingPCData*>(at), place, counts);
    data->totalSamples += samples_of(counts);
    ++data->totalNumPcs;
    at += pc_bytes();
    sampler.ready.erase(sampler.ready.begin());
  }
  data->remainingNumPcs = sampler.ready.size();
}

void tell_taken(uint64_t samples) {
  const char* path = getenv("MOCK_SAMPLES_TAKEN");
  FILE* file = path != nullptr ? fopen(path, "a") : nullptr;
  if (file != nullptr) {
    fprintf(file, "%lu\n", samples);
    fclose(file);
  }
}

void overflow(Sampler& sampler) {
  for (const auto& [place, counts] : sampler.ready) {
    sampler.dropped += samples_of(counts);
  }
  sampler.ready.clear();
  sampler.full = true;
}

bool every(uint64_t n, uint64_t count) {
  return n != 0 && count % n == 0;
}

CUptiResult configure(Sampler& sampler, CUpti_PCSamplingConfigurationInfo& info) {
  const auto& data = info.attributeData;
  switch (info.attributeType) {
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD:
      if (mock::faults().refuse_period) {
        return CUPTI_ERROR_INVALID_OPERATION;
      }
      if (data.samplingPeriodData.samplingPeriod < 5 || data.samplingPeriodData.samplingPeriod > 31) {
        return CUPTI_ERROR_INVALID_OPERATION;
      }
      sampler.period = data.samplingPeriodData.samplingPeriod;
      return CUPTI_SUCCESS;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE:
      return data.scratchBufferSizeData.scratchBufferSize < kLeastScratch ? CUPTI_ERROR_INVALID_OPERATION
                                                                          : CUPTI_SUCCESS;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE:
      sampler.serialized =
          data.collectionModeData.collectionMode == CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED;
      return CUPTI_SUCCESS;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE:
      mock::violation("a hardware buffer of another size runs out of memory on some GPUs");
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL:
      sampler.ranges = data.enableStartStopControlData.enableStartStopControl != 0;
      if (sampler.ranges != sampler.serialized) {
        mock::violation("PC sampling must serialize kernels and use ranges, or neither");
      }
      return CUPTI_SUCCESS;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT:
      return data.outputDataFormatData.outputDataFormat == CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED
                 ? CUPTI_SUCCESS
                 : CUPTI_ERROR_INVALID_OPERATION;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER:
      sampler.rest = static_cast<CUpti_PCSamplingData*>(data.samplingDataBufferData.samplingDataBuffer);
      check_room(*sampler.rest);
      return CUPTI_SUCCESS;
    default:
      return CUPTI_ERROR_INVALID_PARAMETER;
  }
}

template <typename Params>
bool sound(const Params* params, size_t size) {
  return params != nullptr && params->size == size && params->pPriv == nullptr && params->ctx != nullptr;
}

}  // namespace

namespace gpuprof::mock {

bool context_of(CUcontext context, uint32_t* id, uint32_t* device) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) {
    return false;
  }
  const auto look = reinterpret_cast<decltype(&mock_cuda_context)>(dlsym(driver, "mock_cuda_context"));
  dlclose(driver);
  return look != nullptr && look(context, id, device);
}

uint64_t crc_of_module(uint32_t id) {
  const std::lock_guard lock(sampling().mutex);
  return sampling().code[id];
}

void sample_op(const Op& op) {
  Sampling& s = sampling();
  if (op.kind != OpKind::kernel && op.kind != OpKind::fill) {
    return;
  }
  const std::lock_guard lock(s.mutex);
  const auto found = s.samplers.find(op.context);
  if (found == s.samplers.end() || !found->second.enabled || found->second.rest == nullptr) {
    return;  // sampling is not enabled, or not configured
  }
  Sampler& sampler = found->second;
  if (sampler.ranges && !sampler.in_range) {
    return;
  }
  Taken taken = {op.end_ns, sampler.serialized ? op.correlation : 0,         s.code[op.module],
                 nullptr,   (op.end_ns - op.start_ns) * 2 >> sampler.period, false};
  if (op.kind == OpKind::kernel) {
    char*& function = s.functions[{op.module, op.name}];
    function = function != nullptr ? function : strdup(op.name);
    taken.function = function;
    taken.dropped = every(faults().sampling_dropped, ++sampler.kernels);
  }
  sampler.taken.push_back(taken);
}

void sample_module(uint32_t id, const void* cubin, size_t bytes) {
  const std::lock_guard lock(sampling().mutex);
  sampling().code[id] = crc_of(cubin, bytes);
}

void forget_sampled_context(CUcontext context) {
  uint32_t id = 0;
  uint32_t device = 0;
  if (context_of(context, &id, &device)) {
    const std::lock_guard lock(sampling().mutex);
    sampling().samplers.erase(id);
  }
}

bool sampling_anywhere() {
  const std::lock_guard lock(sampling().mutex);
  for (const auto& [id, sampler] : sampling().samplers) {
    if (sampler.enabled) {
      return true;
    }
  }
  return false;
}

}  // namespace gpuprof::mock

extern "C" {

CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  uint32_t device = 0;
  return id != nullptr && mock::context_of(context, id, &device) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* device) {
  uint32_t id = 0;
  return device != nullptr && mock::context_of(context, &id, device) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams* params) {
  if (params == nullptr || params->size != CUpti_GetCubinCrcParamsSize || params->cubin == nullptr ||
      params->cubinSize == 0) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  params->cubinCrc = crc_of(params->cubin, params->cubinSize);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams* params) {
  if (!sound(params, CUpti_PCSamplingEnableParamsSize)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (const uint64_t refusal = mock::faults().refuse_sampling; refusal != 0) {
    return static_cast<CUptiResult>(refusal);
  }
  uint32_t id = 0;
  uint32_t device = 0;
  if (!mock::context_of(params->ctx, &id, &device)) {
    return CUPTI_ERROR_INVALID_CONTEXT;
  }
  const std::lock_guard lock(sampling().mutex);
  Sampler& sampler = sampling().samplers[id];
  if (sampler.enabled) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  const uint64_t kernels = sampler.kernels;
  const uint64_t readings = sampler.readings;
  sampler = {};
  sampler.kernels = kernels;
  sampler.readings = readings;
  sampler.enabled = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams* params) {
  if (!sound(params, CUpti_PCSamplingDisableParamsSize)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const std::lock_guard lock(sampling().mutex);
  Sampler* sampler = enabled_sampler(params->ctx);
  if (sampler == nullptr) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  must_be_readable(*sampler);
  if (sampler->rest != nullptr) {
    collect(*sampler, now_ns());
    hand_out(*sampler, sampler->rest, SIZE_MAX);
  }
  tell_taken(sampler->all);
  sampler->enabled = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingStart(CUpti_PCSamplingStartParams* params) {
  if (!sound(params, CUpti_PCSamplingStartParamsSize)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (capturing()) {
    mock::violation("a range of samples is opened while a graph is captured");
  }
  const std::lock_guard lock(sampling().mutex);
  Sampler* sampler = enabled_sampler(params->ctx);
  if (sampler == nullptr || !sampler->ranges || sampler->in_range) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  sampler->in_range = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingStop(CUpti_PCSamplingStopParams* params) {
  if (!sound(params, CUpti_PCSamplingStopParamsSize)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const std::lock_guard lock(sampling().mutex);
  Sampler* sampler = enabled_sampler(params->ctx);
  if (sampler == nullptr || !sampler->in_range) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  sampler->in_range = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* params) {
  if (!sound(params, CUpti_PCSamplingConfigurationInfoParamsSize) || params->pPCSamplingConfigurationInfo == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const std::lock_guard lock(sampling().mutex);
  Sampler* sampler = enabled_sampler(params->ctx);
  CUptiResult result = sampler == nullptr ? CUPTI_ERROR_INVALID_OPERATION : CUPTI_SUCCESS;
  for (size_t i = 0; i < params->numAttributes && result == CUPTI_SUCCESS; ++i) {
    CUpti_PCSamplingConfigurationInfo& info = params->pPCSamplingConfigurationInfo[i];
    result = configure(*sampler, info);
    info.attributeStatus = result;
  }
  return result;
}

CUptiResult cuptiPCSamplingGetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* params) {
  if (!sound(params, CUpti_PCSamplingConfigurationInfoParamsSize) || params->numAttributes != 1 ||
      params->pPCSamplingConfigurationInfo->attributeType !=
          CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const std::lock_guard lock(sampling().mutex);
  const Sampler* sampler = enabled_sampler(params->ctx);
  if (sampler == nullptr) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  params->pPCSamplingConfigurationInfo->attributeData.samplingPeriodData.samplingPeriod = sampler->period;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams* params) {
  if (!sound(params, CUpti_PCSamplingGetNumStallReasonsParamsSize) || params->numStallReasons == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *params->numStallReasons = kReasonCount;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams* params) {
  if (!sound(params, CUpti_PCSamplingGetStallReasonsParamsSize) || params->numStallReasons != kReasonCount) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (uint32_t i = 0; i < kReasonCount; ++i) {
    params->stallReasonIndex[i] = i + 1;
    strncpy(params->stallReasons[i], kReasons[i], CUPTI_STALL_REASON_STRING_SIZE - 1);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams* params) {
  if (!sound(params, CUpti_PCSamplingGetDataParamsSize) || params->pcSamplingData == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const mock::Faults& faults = mock::faults();
  const std::lock_guard lock(sampling().mutex);
  Sampler* sampler = enabled_sampler(params->ctx);
  if (sampler == nullptr || sampler->rest == nullptr) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  must_be_readable(*sampler);
  collect(*sampler, now_ns() - kLateNs);
  if (sampler->full) {
    return CUPTI_ERROR_OUT_OF_MEMORY;
  }
  ++sampler->readings;
  const bool out_of_memory = every(faults.sampling_out_of_memory, sampler->readings);
  const bool full = every(faults.sampling_buffer_full, sampler->readings);
  if (out_of_memory || full) {
    overflow(*sampler);
  }
  auto* data = static_cast<CUpti_PCSamplingData*>(params->pcSamplingData);
  hand_out(*sampler, data, faults.sampling_remaining != 0 ? faults.sampling_remaining : SIZE_MAX);
  data->hardwareBufferFull = out_of_memory || full ? 1 : 0;
  return out_of_memory ? CUPTI_ERROR_OUT_OF_MEMORY : CUPTI_SUCCESS;
}

}  // extern "C"
