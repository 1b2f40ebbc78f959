#include "cupti/sampling/pc_samples.h"

#include <sys/mman.h>

#include <cstring>

#include "base/text_arena.h"
#include "ipc/emit.h"
#include "ipc/ring.h"
#include "runtime/code_store.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr char kUnknownReason[] = "other";
constexpr uint32_t kCorrelationIdVersion = 22;  // since CUDA 12.4

size_t pcs_in(const PcBuffer& buffer) {
  const CUpti_PCSamplingData& data = buffer.data;
  return data.totalNumPcs < data.collectNumPcs ? data.totalNumPcs : data.collectNumPcs;
}

size_t reasons_of(const PcBuffer& buffer, const CUpti_PCSamplingPCData& pc) {
  return pc.stallReasonCount < buffer.reasons ? pc.stallReasonCount : buffer.reasons;
}

bool counts(const StallReasons& reasons, const CUpti_PCSamplingStallReason& reason) {
  const uint32_t index = reason.pcSamplingStallReasonIndex;
  return reason.samples != 0 && (index >= StallReasons::kMost || reasons.name_id[index] != StallReasons::kLeftOut);
}

uint32_t name_of(const StallReasons& reasons, uint32_t index) {
  const uint32_t known = index < StallReasons::kMost ? reasons.name_id[index] : 0;
  return known != 0 ? known : name_id(kUnknownReason);
}

// Caches the name id of the last function, because successive entries often share a name pointer. The pointers are
// comparable only within one buffer.
struct LastFunction {
  const char* name = nullptr;
  uint32_t id = 0;
  uint32_t of(const char* wanted) {
    if (wanted != name) {
      name = wanted;
      id = name_id(wanted);
    }
    return id;
  }
};

struct LastModule {
  uint64_t crc = 0;
  uint64_t module = 0;
  bool known = false;
  uint64_t of(uint64_t wanted) {
    if (!known || wanted != crc) {
      crc = wanted;
      module = module_of_code(wanted);
      known = true;
    }
    return module;
  }
};

}  // namespace

bool samples_name_launches(uint32_t cupti_version) {
  return cupti_version >= kCorrelationIdVersion;
}

size_t pc_data_bytes(uint32_t cupti_version) {
  return samples_name_launches(cupti_version) ? sizeof(CUpti_PCSamplingPCData)
                                              : offsetof(CUpti_PCSamplingPCData, correlationId);
}

bool make_buffer(size_t pcs, uint32_t reasons, size_t pc_bytes, PcBuffer* buffer) {
  const size_t bytes = pcs * (pc_bytes + reasons * sizeof(CUpti_PCSamplingStallReason));
  void* memory = map_memory(bytes);
  if (memory == nullptr) {
    return false;
  }
  *buffer = {{}, static_cast<uint8_t*>(memory), bytes, pc_bytes, reasons};
  buffer->data.size = sizeof(buffer->data);
  buffer->data.collectNumPcs = pcs;
  buffer->data.pPcData = reinterpret_cast<CUpti_PCSamplingPCData*>(buffer->memory);
  clear_buffer(buffer);
  return true;
}

void free_buffer(PcBuffer* buffer) {
  if (buffer->memory != nullptr) {
    munmap(buffer->memory, buffer->bytes);
  }
  *buffer = {};
}

void clear_buffer(PcBuffer* buffer) {
  const size_t pcs = buffer->data.collectNumPcs;
  auto* room = reinterpret_cast<CUpti_PCSamplingStallReason*>(buffer->memory + pcs * buffer->pc_bytes);
  for (size_t i = 0; i < pcs; ++i) {
    auto* pc = reinterpret_cast<CUpti_PCSamplingPCData*>(buffer->memory + i * buffer->pc_bytes);
    pc->size = buffer->pc_bytes;
    pc->stallReasonCount = 0;
    pc->stallReason = room + i * buffer->reasons;
  }
  buffer->data = {sizeof(buffer->data), pcs, 0, 0, 0, 0, 0, buffer->data.pPcData, 0, 0};
}

namespace {

// Returns an entry filled by CUPTI. `index` must be below data.totalNumPcs and data.collectNumPcs.
const CUpti_PCSamplingPCData& pc_at(const PcBuffer& buffer, size_t index) {
  return *reinterpret_cast<const CUpti_PCSamplingPCData*>(buffer.memory + index * buffer.pc_bytes);
}

}  // namespace

void count_samples(const PcBuffer& buffer, const StallReasons& reasons, SampleCounts* sums) {
  sums->total += buffer.data.totalSamples;
  sums->dropped += buffer.data.droppedSamples;
  sums->foreign += buffer.data.nonUsrKernelsTotalSamples;
  for (size_t i = 0; i < pcs_in(buffer); ++i) {
    const CUpti_PCSamplingPCData& pc = pc_at(buffer, i);
    for (size_t reason = 0; reason < reasons_of(buffer, pc); ++reason) {
      sums->handed += counts(reasons, pc.stallReason[reason]) ? pc.stallReason[reason].samples : 0;
    }
  }
}

void emit_samples(const PcBuffer& buffer, const StallReasons& reasons, uint32_t window, uint32_t ring, bool may_wait) {
  gpuprof_segment* segment = open_segment();
  if (segment == nullptr) {
    return;
  }
  LastFunction function;
  LastModule module;
  gpuprof_sample_reason told[StallReasons::kMost];
  for (size_t i = 0; i < pcs_in(buffer); ++i) {
    const CUpti_PCSamplingPCData& pc = pc_at(buffer, i);
    alignas(gpuprof_samples) uint8_t head[sizeof(gpuprof_samples)] = {};
    auto& record = *reinterpret_cast<gpuprof_samples*>(head);
    for (size_t at = 0; at < reasons_of(buffer, pc); ++at) {
      const CUpti_PCSamplingStallReason& reason = pc.stallReason[at];
      if (counts(reasons, reason)) {
        told[record.count++] = {name_of(reasons, reason.pcSamplingStallReasonIndex), reason.samples};
      }
    }
    if (record.count == 0) {
      continue;
    }
    record.header.type = GPUPROF_RECORD_SAMPLES;
    record.module = module.of(pc.cubinCrc);
    record.offset = pc.pcOffset;
    record.function_id = function.of(pc.functionName);
    record.window = window;
    record.correlation = buffer.pc_bytes == sizeof(pc) ? pc.correlationId : 0;
    write_record_to(segment, ring, &record.header, sizeof(record), reinterpret_cast<const char*>(told),
                    record.count * sizeof(told[0]), may_wait);
  }
}

bool emit_sampled_launch(uint64_t correlation) {
  gpuprof_sampled_launch record = {};
  record.header.type = GPUPROF_RECORD_SAMPLED_LAUNCH;
  record.correlation = correlation;
  return emit_record(record);
}

bool emit_window(gpuprof_sample_window window, uint32_t ring, bool may_wait) {
  gpuprof_segment* segment = open_segment();
  window.header.type = GPUPROF_RECORD_SAMPLE_WINDOW;
  return segment != nullptr && write_record_to(segment, ring, &window.header, sizeof(window), nullptr, 0, may_wait);
}

}  // namespace gpuprof::injection::cupti
