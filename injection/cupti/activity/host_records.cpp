#include "cupti/activity/host_records.h"

#include "base/atomics.h"
#include "cupti/probes/block_memory.h"
#include "cupti/probes/block_probes.h"
#include "cupti/session.h"
#include "cupti/subscriber.h"
#include "ipc/emit.h"
#include "runtime/work.h"

namespace gpuprof::injection::cupti {

uint64_t to_monotonic(uint64_t time) {
  const Session& s = session();
  if (time == 0 || !s.convert_clock) {
    return time;
  }
  return time + static_cast<uint64_t>(load_relaxed(&s.clock_offset_ns));
}

// Emits a HOST_OP. The API callback has captured the stack of the call under the same correlation id.
void emit_memory(const MemoryRecord& record) {
  const bool freed = record.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  if (!freed && record.memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION) {
    return;
  }
  if (record.timestamp == 0) {
    lost(GPUPROF_LOSS_INVALID_TIMESTAMP, 1);
    return;
  }
  if (probing() && is_own_memory(record.address)) {
    return;
  }
  gpuprof_host_op op = {};
  op.correlation = record.correlationId == 0 ? 0 : GPUPROF_CORRELATION_HOST | unique_id(record.correlationId);
  op.start_ns = to_monotonic(record.timestamp);
  op.end_ns = op.start_ns;
  op.bytes = record.bytes;
  op.count = 1;
  op.device = record.deviceId;
  op.op = freed ? GPUPROF_HOST_FREE : GPUPROF_HOST_ALLOC;
  host_op(op);
}

// Emits a HOST_OP. CUPTI reports the faulting address but no stack. For page faults of the CPU, it makes one record per
// fault.
void emit_unified_memory(const UnifiedMemoryRecord& record) {
  gpuprof_host_op op = {};
  op.count = 1;
  op.device = record.srcId;
  op.start_ns = record.start;
  op.end_ns = record.end;
  switch (record.counterKind) {
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD:
      op.op = GPUPROF_HOST_MIGRATE_HTOD;
      op.bytes = record.value;
      op.device = record.dstId;
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH:
      op.op = GPUPROF_HOST_MIGRATE_DTOH;
      op.bytes = record.value;
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT:
      op.op = GPUPROF_HOST_FAULT_CPU;
      op.device = UINT32_MAX;
      op.end_ns = op.start_ns;
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT:
      op.op = GPUPROF_HOST_FAULT_GPU;
      op.count = record.value;
      break;
    default:
      return;
  }
  if (op.start_ns == 0 || op.end_ns < op.start_ns) {
    lost(GPUPROF_LOSS_INVALID_TIMESTAMP, 1);
    return;
  }
  op.start_ns = to_monotonic(op.start_ns);
  op.end_ns = to_monotonic(op.end_ns);
  host_op(op);
}

void enable_unified_memory() {
  Session& s = session();
  const Api& api = s.api;
  const gpuprof_options* wanted = options();
  if (wanted == nullptr || wanted->nvtx_range[0] != '\0' || (wanted->flags & GPUPROF_OPTION_COUNTS) != 0 ||
      (wanted->flags & GPUPROF_OPTION_WINDOWS) != 0 || finalized() || !swap_if(&s.unified_asked, 0, 1)) {
    // A recording of one NVTX range omits page migrations, because they belong to no range. CUPTI takes 2 s to switch
    // them off, so windows omit them, too.
    return;
  }
  CUpti_ActivityUnifiedMemoryCounterConfig config[4] = {};
  config[0].kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
  config[1].kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH;
  config[2].kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT;
  config[3].kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT;
  for (CUpti_ActivityUnifiedMemoryCounterConfig& counter : config) {
    counter.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
    counter.enable = 1;
  }
  CUptiResult result = CUPTI_ERROR_NOT_SUPPORTED;
  if (api.configure_unified_memory != nullptr && s.shared == nullptr) {
    result = api.configure_unified_memory(config, 4);
  }
  if (result == CUPTI_SUCCESS) {
    result = api.enable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
  }
  store_relaxed(&s.unified_memory, result == CUPTI_SUCCESS);
  meta("cupti.unified_memory", result == CUPTI_SUCCESS ? "on" : result_text(api, result));
}

}  // namespace gpuprof::injection::cupti
