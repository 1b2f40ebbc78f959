#include "cupti/sampling/sampling_calls.h"

#include "base/text_arena.h"
#include "cupti/sampling/sampling_texts.h"
#include "cupti/session.h"
#include "ipc/emit.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr size_t kScratchBytes = size_t{16} << 20;
constexpr size_t kPcs = 4096;  // number of instructions per read, which takes about 1.5 MB with 40 stall reasons each

using Attribute = CUpti_PCSamplingConfigurationInfo;

const PcSamplingApi& api() {
  return session().api.sampling;
}

Attribute attribute(CUpti_PCSamplingConfigurationAttributeType type) {
  Attribute made = {};
  made.attributeType = type;
  return made;
}

CUptiResult set(CUcontext context, Attribute* attributes, size_t count) {
  CUpti_PCSamplingConfigurationInfoParams params = {sizeof(params), nullptr, context, count, attributes};
  return api().set_attribute(&params);
}

CUptiResult configure(Sampler* sampler, bool exact) {
  Attribute mode = attribute(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE);
  mode.attributeData.collectionModeData.collectionMode =
      exact ? CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED : CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
  Attribute scratch = attribute(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE);
  scratch.attributeData.scratchBufferSizeData.scratchBufferSize = kScratchBytes;
  Attribute ranges = attribute(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL);
  ranges.attributeData.enableStartStopControlData.enableStartStopControl = exact ? 1 : 0;
  Attribute format = attribute(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT);
  format.attributeData.outputDataFormatData.outputDataFormat = CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED;
  Attribute buffer = attribute(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER);
  buffer.attributeData.samplingDataBufferData.samplingDataBuffer = &sampler->rest.data;
  Attribute all[] = {mode, scratch, ranges, format, buffer};
  return set(sampler->context, all, sizeof(all) / sizeof(all[0]));
}

// Requests a period. Some devices reject every period and use their own. period_of() reads back the actual period.
void choose_period(const Sampler& sampler, uint32_t period) {
  if (period == 0) {
    return;
  }
  Attribute wanted = attribute(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD);
  wanted.attributeData.samplingPeriodData.samplingPeriod = static_cast<uint32_t>(__builtin_ctz(period));
  const CUptiResult result = set(sampler.context, &wanted, 1);
  if (result != CUPTI_SUCCESS) {
    meta("sampling.period_refused", result_text(session().api, result));
  }
}

uint64_t period_of(CUcontext context) {
  constexpr uint32_t kMostBits = 63;
  Attribute period = attribute(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD);
  CUpti_PCSamplingConfigurationInfoParams params = {sizeof(params), nullptr, context, 1, &period};
  const bool told = api().get_attribute(&params) == CUPTI_SUCCESS;
  const uint32_t bits = period.attributeData.samplingPeriodData.samplingPeriod;
  return told && bits > 0 && bits <= kMostBits ? uint64_t{1} << bits : 0;
}

void name_reasons(const uint32_t* indexes, char* const* names, size_t count, StallReasons* reasons) {
  *reasons = {};
  reasons->count = static_cast<uint32_t>(count);
  for (size_t i = 0; i < count; ++i) {
    if (indexes[i] < StallReasons::kMost) {
      const ReasonName word = reason_name(names[i]);
      reasons->name_id[indexes[i]] = word.length == 0 ? StallReasons::kLeftOut : name_id(word.text, word.length);
    }
  }
}

CUptiResult learn_reasons(CUcontext context, StallReasons* reasons) {
  size_t count = 0;
  CUpti_PCSamplingGetNumStallReasonsParams how_many = {sizeof(how_many), nullptr, context, &count};
  CUptiResult result = api().count_reasons(&how_many);
  if (result != CUPTI_SUCCESS || count == 0 || count > StallReasons::kMost) {
    return result != CUPTI_SUCCESS ? result : CUPTI_ERROR_NOT_SUPPORTED;
  }
  struct ReasonNames {
    uint32_t indexes[StallReasons::kMost];
    char* names[StallReasons::kMost];
    char texts[StallReasons::kMost][kStallReasonBytes];
  };
  PcBuffer memory = {};  // allocated, because it is too large for the stack of a thread of the target
  memory.bytes = sizeof(ReasonNames);
  memory.memory = static_cast<uint8_t*>(map_memory(sizeof(ReasonNames)));
  if (memory.memory == nullptr) {
    return CUPTI_ERROR_OUT_OF_MEMORY;
  }
  auto* told = reinterpret_cast<ReasonNames*>(memory.memory);
  for (size_t i = 0; i < count; ++i) {
    told->names[i] = told->texts[i];
  }
  CUpti_PCSamplingGetStallReasonsParams params = {sizeof(params), nullptr, context, count, told->indexes, told->names};
  result = api().reasons(&params);
  if (result == CUPTI_SUCCESS) {
    for (auto& text : told->texts) {
      text[kStallReasonBytes - 1] = '\0';
    }
    name_reasons(told->indexes, told->names, count, reasons);
  }
  free_buffer(&memory);
  return result;
}

bool make_buffers(Sampler* sampler) {
  uint32_t version = 0;
  session().api.get_version(&version);
  const size_t pc_bytes = pc_data_bytes(version);
  const uint32_t reasons = sampler->reasons.count;
  return (sampler->read.memory != nullptr || make_buffer(kPcs, reasons, pc_bytes, &sampler->read)) &&
         (sampler->rest.memory != nullptr || make_buffer(kPcs, reasons, pc_bytes, &sampler->rest));
}

CUptiResult set_up(Sampler* sampler, uint32_t period, bool exact) {
  CUptiResult result = learn_reasons(sampler->context, &sampler->reasons);
  if (result == CUPTI_SUCCESS && !make_buffers(sampler)) {
    result = CUPTI_ERROR_OUT_OF_MEMORY;
  }
  if (result == CUPTI_SUCCESS) {
    clear_buffer(&sampler->rest);
    choose_period(*sampler, period);
    result = configure(sampler, exact);
  }
  if (result == CUPTI_SUCCESS) {
    sampler->period = period_of(sampler->context);
  }
  return result;
}

}  // namespace

CUptiResult start_sampler(Sampler* sampler, uint32_t period, bool exact) {
  CUpti_PCSamplingEnableParams params = {sizeof(params), nullptr, sampler->context};
  CUptiResult result = api().enable(&params);
  if (result != CUPTI_SUCCESS) {
    return result;
  }
  result = set_up(sampler, period, exact);
  if (result != CUPTI_SUCCESS) {
    stop_sampler(sampler);
  }
  return result;
}

CUptiResult read_sampler(Sampler* sampler) {
  clear_buffer(&sampler->read);
  CUpti_PCSamplingGetDataParams params = {sizeof(params), nullptr, sampler->context, &sampler->read.data};
  return api().get_data(&params);
}

CUptiResult stop_sampler(Sampler* sampler) {
  CUpti_PCSamplingDisableParams params = {sizeof(params), nullptr, sampler->context};
  return api().disable(&params);
}

void free_sampler(Sampler* sampler) {
  free_buffer(&sampler->read);
  free_buffer(&sampler->rest);
}

}  // namespace gpuprof::injection::cupti
