#include "cupti/activity/buffers.h"

#include <cstdlib>

#include "base/atomics.h"
#include "base/guard.h"
#include "base/keep_errno.h"
#include "base/monotonic_clock.h"
#include "cupti/activity/host_records.h"
#include "cupti/activity/records.h"
#include "cupti/kernel_names.h"
#include "cupti/probes/block_memory.h"
#include "cupti/probes/block_probes.h"
#include "cupti/session.h"
#include "cupti/shared.h"
#include "cupti/windows/passed_launches.h"
#include "cupti/windows/unfinished_launches.h"
#include "ipc/emit.h"
#include "ipc/ring.h"
#include "runtime/launch.h"
#include "runtime/recording.h"
#include "runtime/work.h"

namespace gpuprof::injection::cupti {
namespace {

// A buffer holds about 5 000 kernel records. It is not larger, because CUPTI 13 holds one buffer per thread.
constexpr size_t kBufferBytes = 1U << 20;
constexpr size_t kBufferAlignment = 4096;
constexpr size_t kMaxFree = 8;  // free buffers kept for CUPTI's next requests
// If CUPTI has this many buffers more than there are threads, it has more records than the recorder can read. Then this
// library waits for the recorder no longer, so that the buffers do not use up the target's memory.
constexpr int64_t kMaxWaiting = 64;

int64_t requested;  // number of buffers that CUPTI has

struct FreeList {
  uint32_t lock;
  size_t count;
  uint8_t* buffers[kMaxFree];
};
FreeList free_list;

uint8_t* take_free() {
  uint8_t* buffer = nullptr;
  if (try_lock_bounded(&free_list.lock)) {
    if (free_list.count > 0) {
      buffer = free_list.buffers[--free_list.count];
    }
    unlock(&free_list.lock);
  }
  return buffer;
}

void give_back(uint8_t* buffer) {
  bool kept = false;
  if (try_lock_bounded(&free_list.lock)) {
    if (free_list.count < kMaxFree) {
      free_list.buffers[free_list.count++] = buffer;
      kept = true;
    }
    unlock(&free_list.lock);
  }
  if (!kept) {
    free(buffer);
  }
}

gpuprof_op copy_op(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return GPUPROF_OP_COPY_HTOD;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return GPUPROF_OP_COPY_DTOH;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
      return GPUPROF_OP_COPY_DTOD;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return GPUPROF_OP_COPY_HTOH;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return GPUPROF_OP_COPY_PTOP;
    default:
      return GPUPROF_OP_COPY;
  }
}

template <typename Record>
gpuprof_gpu_op common_fields(const Record& record, gpuprof_op kind) {
  gpuprof_gpu_op op = {};
  op.correlation = unique_id(record.correlationId);
  op.start_ns = record.start;
  op.end_ns = record.end;
  op.stream = record.streamId;
  op.device = record.deviceId;
  op.context = record.contextId;
  op.op = static_cast<uint16_t>(kind);
  return op;
}

template <typename Record>
gpuprof_gpu_op node_fields(const Record& record, gpuprof_op kind) {
  gpuprof_gpu_op op = common_fields(record, kind);
  op.graph_node = record.graphNodeId;
  op.flags = record.graphNodeId != 0 ? GPUPROF_GPU_OP_MORE : 0;
  if (record.correlationId == 0 && record.graphNodeId != 0 && record.graphId != 0) {
    // CUPTI reports no launch id for work in the body of a conditional node. So the record gets the id of the
    // executable graph.
    op.correlation = GPUPROF_CORRELATION_EXEC | record.graphId;
  }
  return op;
}

// `grid_id`: of a kernel that is no node of a graph. 0: of other work.
void emit(gpuprof_gpu_op op, uint64_t grid_id = 0) {
  Session& s = session();
  if (wants(GPUPROF_OPTION_WINDOWS) && (op.correlation & GPUPROF_CORRELATION_EXEC) == 0) {
    launch_ended(static_cast<uint32_t>(op.correlation));
    if (op.graph_node == 0) {
      note_traced_record();
    }
  }
  if (op.end_ns == 0 && op.start_ns != 0 && load_relaxed(&s.ending) != 0) {
    lost(GPUPROF_LOSS_UNFINISHED, 1);
    return;
  }
  if (op.start_ns == 0 || op.end_ns == 0 || op.end_ns < op.start_ns) {
    lost(GPUPROF_LOSS_INVALID_TIMESTAMP, 1);
    return;
  }
  add_relaxed(&s.valid_records, uint64_t{1});
  add_relaxed(&s.valid_ns, op.end_ns - op.start_ns);
  op.start_ns = to_monotonic(op.start_ns);
  op.end_ns = to_monotonic(op.end_ns);
  op.queued_ns = to_monotonic(op.queued_ns);
  op.submitted_ns = to_monotonic(op.submitted_ns);
  if (grid_id == 0 || !probing() || !keep_for_blocks(op, grid_id)) {
    gpu_op(op, true);
  }
}

// Sets the queue and submit times, unless they are inconsistent.
void add_latency(const KernelRecord& record, gpuprof_gpu_op* op) {
  const bool in_order = record.queued == 0 || record.submitted == 0 || record.queued <= record.submitted;
  op->queued_ns = in_order && record.queued <= record.start ? record.queued : 0;
  op->submitted_ns = in_order && record.submitted <= record.start ? record.submitted : 0;
}

void emit_kernel(const KernelRecord& record) {
  gpuprof_gpu_op op = node_fields(record, GPUPROF_OP_KERNEL);
  if (record.graphNodeId == 0) {  // For graph nodes, CUPTI reports the queue and submit times of an earlier launch.
    add_latency(record, &op);
  }
  op.name_id = name_of_record(record);
  if (wants(GPUPROF_OPTION_WINDOWS) && record.graphNodeId == 0) {
    note_traced_kernel(record.correlationId, record.deviceId, record.gridId);
  }
  emit(op, record.graphNodeId == 0 ? static_cast<uint64_t>(record.gridId) : 0);
}

template <typename Record>
void emit_transfer(const Record& record, gpuprof_op kind) {
  if (probing() && is_own_stream(record.contextId, record.streamId)) {
    return;
  }
  gpuprof_gpu_op op = node_fields(record, kind);
  op.bytes = record.bytes;
  emit(op);
}

void emit_record(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      emit_kernel(*reinterpret_cast<const KernelRecord*>(record));
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = *reinterpret_cast<const CopyRecord*>(record);
      emit_transfer(copy, copy_op(copy.copyKind));
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      emit_transfer(*reinterpret_cast<const PeerCopyRecord*>(record), GPUPROF_OP_COPY_PTOP);
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      emit_transfer(*reinterpret_cast<const FillRecord*>(record), GPUPROF_OP_FILL);
      break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      if (load_relaxed(&session().paused) == 0) {
        emit(common_fields(*reinterpret_cast<const GraphRecord*>(record), GPUPROF_OP_GRAPH));
      }
      break;
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      emit_memory(*reinterpret_cast<const MemoryRecord*>(record));
      break;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      emit_unified_memory(*reinterpret_cast<const UnifiedMemoryRecord*>(record));
      break;
    default:
      break;
  }
}

void emit_all(uint8_t* buffer, size_t valid) {
  CUpti_Activity* record = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  while ((result = next_record(buffer, valid, &record)) == CUPTI_SUCCESS && record != nullptr) {
    emit_record(record);
  }
  if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_MAX_LIMIT_REACHED) {
    lost(GPUPROF_LOSS_VENDOR_DROPPED, 1);  // The rest of the buffer cannot be read, so at least one record is lost.
  }
}

}  // namespace

void count_dropped() {
  size_t dropped = 0;
  if (dropped_records(&dropped) == CUPTI_SUCCESS && dropped > 0) {
    lost(GPUPROF_LOSS_VENDOR_DROPPED, dropped);
  }
}

void free_spare_buffers() {
  for (uint8_t* buffer = take_free(); buffer != nullptr; buffer = take_free()) {
    free(buffer);
  }
}

void on_buffer_requested(uint8_t** buffer, size_t* size, size_t* max_records) {
  const KeepErrno keep_errno;  // This callback runs inside a launch of the target, whose errno must not change.
  *max_records = 0;
  *size = kBufferBytes;
  *buffer = take_free();
  if (*buffer == nullptr) {
    *buffer = static_cast<uint8_t*>(aligned_alloc(kBufferAlignment, kBufferBytes));
  }
  if (*buffer == nullptr) {
    *size = 0;
    lost(GPUPROF_LOSS_OUT_OF_MEMORY, 1);
  } else {
    add_relaxed(&requested, int64_t{1});
  }
}

void on_buffer_completed(CUcontext /*context*/, uint32_t /*stream*/, uint8_t* buffer, size_t /*size*/, size_t valid) {
  if (buffer == nullptr) {
    return;
  }
  const int64_t waiting = add_relaxed(&requested, int64_t{-1});
  const KeepErrno keep_errno;  // This callback may run inside a call of the target, whose errno must not change.
  if (!in_fork()) {
    const Guard guard;
    const uint64_t entered = thread_cpu_ns();
    thread_state().in_backlog = waiting > kMaxWaiting + writing_threads() ? 1 : 0;
    if (valid > 0) {
      emit_all(buffer, valid);
    }
    thread_state().in_backlog = 0;
    count_dropped();
    add_handover(thread_cpu_ns() - entered);
  }
  give_back(buffer);
}

}  // namespace gpuprof::injection::cupti
