#include "mock_cupti_buffers.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "mock_faults.h"

namespace gpuprof::mock {
namespace {

// Finished work is collected when this many operations are pending, or twice as many as were pending after the last
// collection.
constexpr size_t kCollectAfter = 64;

struct Buffer {
  uint8_t* data = nullptr;
  size_t size = 0;
  size_t used = 0;
};

struct Pending {
  Op op;
  std::thread::id thread;  // the launching thread: since CUDA 13 each thread has a buffer of its own
};

struct Activity {
  std::mutex mutex;  // protects all members below
  std::condition_variable changed;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  int64_t clock_offset_ns = 0;
  bool latency = false;
  std::deque<Pending> pending;
  size_t collect_at = kCollectAfter;
  std::map<std::thread::id, Buffer> open;
  std::set<uint8_t*> held;  // buffers that the mock holds and the client may not touch
  std::deque<Buffer> done;
  size_t delivering = 0;
  size_t workers = 0;
  uint64_t records = 0;
  uint64_t finished = 0;
  uint64_t dropped = 0;
};

Activity& activity() {
  static auto* the_activity = new Activity;  // never destroyed: its threads outlive main()
  return *the_activity;
}
// Creates the activity when the library is loaded: a launch that waits for the creation could change errno.
[[maybe_unused]] const Activity& made_at_load = activity();

uint64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}

// Returns finished buffers to the client, like the real library: on the library's threads, and without its lock held.
void deliver() {
  Activity& a = activity();
  std::unique_lock lock(a.mutex);
  while (true) {
    a.changed.wait(lock, [&] { return !a.done.empty(); });
    const Buffer buffer = faults().out_of_order ? a.done.back() : a.done.front();
    faults().out_of_order ? a.done.pop_back() : a.done.pop_front();
    ++a.delivering;
    a.held.erase(buffer.data);
    lock.unlock();
    a.complete(nullptr, 0, buffer.data, buffer.size, buffer.used);
    lock.lock();
    --a.delivering;
    a.changed.notify_all();
  }
}

void finish_buffer(Activity& a, const Buffer& buffer) {
  const size_t wanted = faults().threads ? 4 : 1;
  while (a.workers < wanted) {
    std::thread(deliver).detach();
    ++a.workers;
  }
  if (const uint64_t n = faults().broken_buffers; n != 0 && ++a.finished % n == 0) {
    reinterpret_cast<CUpti_Activity*>(buffer.data)->kind = CUPTI_ACTIVITY_KIND_FORCE_INT;
  }
  a.done.push_back(buffer);
  a.changed.notify_all();
}

// Returns space for a record in the buffer of the launching thread, or null if the client does not provide a buffer.
uint8_t* room_for(Activity& a, std::thread::id thread, size_t bytes) {
  Buffer& buffer = a.open[thread];
  if (buffer.data != nullptr && buffer.size - buffer.used < bytes) {
    finish_buffer(a, buffer);
    buffer = {};
  }
  if (buffer.data == nullptr) {
    size_t max_records = 0;
    Buffer fresh;
    a.request(&fresh.data, &fresh.size, &max_records);
    if (fresh.data == nullptr || fresh.size < bytes) {
      return nullptr;
    }
    if (reinterpret_cast<uintptr_t>(fresh.data) % 8 != 0) {
      violation("a buffer that is not aligned to 8 bytes");
    }
    if (!a.held.insert(fresh.data).second) {
      violation("a buffer that CUPTI still holds was given again");
    }
    memset(fresh.data, 0xA5, fresh.size);
    buffer = fresh;
  }
  uint8_t* place = buffer.data + buffer.used;
  buffer.used += bytes;
  return place;
}

struct Times {
  uint64_t start;
  uint64_t end;
};

Times record_times(Activity& a, const Op& op, bool finished) {
  const auto offset = static_cast<uint64_t>(a.clock_offset_ns);
  Times times = {op.start_ns + offset, finished ? op.end_ns + offset : 0};
  const Faults& f = faults();
  if (f.zero_timestamps != 0 && a.records % f.zero_timestamps == 0) {
    times = {0, 0};
  }
  if (f.reversed_timestamps != 0 && a.records % f.reversed_timestamps == 0) {
    times.end = times.start - 1;
  }
  return times;
}

template <typename Record>
void fill_common(uint8_t* place, CUpti_ActivityKind kind, const Op& op, const Times& times, Record* record) {
  record->kind = kind;
  record->start = times.start;
  record->end = times.end;
  record->deviceId = op.device;
  record->contextId = op.context;
  record->streamId = op.stream;
  record->correlationId = op.correlation;
  if constexpr (requires { record->graphNodeId; }) {
    record->graphNodeId = op.graph_node;
    record->graphId = op.graph;
  }
  if constexpr (requires { record->gridId; }) {
    record->gridId = static_cast<int64_t>(op.number);
  }
  memcpy(place, record, sizeof(*record));
}

// Sets the queued and submitted times. Graph nodes get those of an earlier launch, as in the real library.
void add_latency(const Activity& a, const Op& op, CUpti_ActivityKernel10* record) {
  const auto offset = static_cast<uint64_t>(a.clock_offset_ns);
  const Faults& f = faults();
  if (!a.latency) {
    return;
  }
  const bool stale = op.graph_node != 0;
  record->queued = op.queued_ns + offset - (stale ? 1000000 : 0);
  record->submitted = stale ? 0 : op.submitted_ns + offset;
  if (f.reversed_latency != 0 && a.records % f.reversed_latency == 0) {
    record->queued = record->submitted + 1;
  }
}

void write(Activity& a, const Pending& pending, bool finished) {
  const Op& op = pending.op;
  const Faults& f = faults();
  const CUpti_ActivityKind kind = activity_kind(op.kind);
  ++a.records;
  const bool drop = f.drop_records != 0 && a.records % f.drop_records == 0;
  uint8_t* place = drop ? nullptr : room_for(a, pending.thread, record_bytes(kind));
  if (place == nullptr) {
    ++a.dropped;
    return;
  }
  const Times times = record_times(a, op, finished);
  if (op.kind == OpKind::kernel) {
    CUpti_ActivityKernel10 record = {};
    record.name = op.name;
    add_latency(a, op, &record);
    fill_common(place, kind, op, times, &record);
  } else if (op.kind == OpKind::copy) {
    CUpti_ActivityMemcpy6 record = {};
    record.bytes = op.bytes;
    record.copyKind = op.copy_kind;
    fill_common(place, kind, op, times, &record);
  } else if (op.kind == OpKind::peer_copy) {
    CUpti_ActivityMemcpyPtoP4 record = {};
    record.bytes = op.bytes;
    record.copyKind = op.copy_kind;
    fill_common(place, kind, op, times, &record);
  } else if (op.kind == OpKind::graph) {
    CUpti_ActivityGraphTrace2 record = {};
    fill_common(place, kind, op, times, &record);
  } else {
    CUpti_ActivityMemset4 record = {};
    record.bytes = op.bytes;
    fill_common(place, kind, op, times, &record);
  }
}

// Writes a record at once, because all its fields are known, as in a record of a CPU call.
template <typename Record>
void write_at_once(Activity& a, const Record& record) {
  uint8_t* place = a.request == nullptr ? nullptr : room_for(a, std::this_thread::get_id(), sizeof(record));
  if (place == nullptr) {
    ++a.dropped;
    return;
  }
  memcpy(place, &record, sizeof(record));
}

void collect(Activity& a, bool forced) {
  std::deque<Pending> running;
  const uint64_t now = now_ns();
  for (const Pending& pending : a.pending) {
    if (pending.op.end_ns <= now) {
      write(a, pending, true);
    } else if (forced) {
      write(a, pending, false);
    } else {
      running.push_back(pending);
    }
  }
  a.pending = std::move(running);
  a.collect_at = std::max(kCollectAfter, 2 * a.pending.size());
}

}  // namespace

void violation(const char* text) {
  fprintf(stderr, "mock libcupti: violation: %s\n", text);
  abort();
}

size_t record_bytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return sizeof(CUpti_ActivityGraphTrace2);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      return sizeof(CUpti_ActivityUnifiedMemoryCounter3);
    default:
      return 0;
  }
}

CUpti_ActivityKind activity_kind(OpKind kind) {
  switch (kind) {
    case OpKind::kernel:
      return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    case OpKind::copy:
      return CUPTI_ACTIVITY_KIND_MEMCPY;
    case OpKind::peer_copy:
      return CUPTI_ACTIVITY_KIND_MEMCPY2;
    case OpKind::graph:
      return CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    default:
      return CUPTI_ACTIVITY_KIND_MEMSET;
  }
}

void set_buffer_callbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  const std::lock_guard lock(activity().mutex);
  activity().request = request;
  activity().complete = complete;
}

void set_clock_offset(int64_t offset_ns) {
  const std::lock_guard lock(activity().mutex);
  activity().clock_offset_ns = offset_ns;
}

void set_latency(bool on) {
  const std::lock_guard lock(activity().mutex);
  activity().latency = on;
}

void add_op(const Op& op) {
  Activity& a = activity();
  const std::lock_guard lock(a.mutex);
  if (a.request == nullptr) {
    ++a.dropped;
    return;
  }
  a.pending.push_back({op, std::this_thread::get_id()});
  if (a.pending.size() >= a.collect_at) {
    collect(a, false);
  }
}

void add_memory(const MemoryOp& op) {
  Activity& a = activity();
  const std::lock_guard lock(a.mutex);
  CUpti_ActivityMemory4 record = {};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType =
      op.freed ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = static_cast<CUpti_ActivityMemoryKind>(op.memory_kind);
  record.correlationId = op.correlation;
  record.address = op.address;
  record.bytes = op.bytes;
  record.timestamp = op.time_ns + static_cast<uint64_t>(a.clock_offset_ns);
  record.deviceId = op.device;
  record.contextId = op.context;
  write_at_once(a, record);
}

void add_managed(const ManagedOp& op) {
  Activity& a = activity();
  const std::lock_guard lock(a.mutex);
  CUpti_ActivityUnifiedMemoryCounter3 record = {};
  record.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
  record.counterKind = static_cast<CUpti_ActivityUnifiedMemoryCounterKind>(op.counter);
  record.value = op.value;
  record.start = op.start_ns + static_cast<uint64_t>(a.clock_offset_ns);
  record.end = op.end_ns == 0 ? 0 : op.end_ns + static_cast<uint64_t>(a.clock_offset_ns);
  record.address = op.address;
  record.srcId = op.device;
  record.dstId = op.device;
  write_at_once(a, record);
}

void forget_ops() {
  Activity& a = activity();
  const std::lock_guard lock(a.mutex);
  a.pending.clear();
  a.open.clear();
  a.held.clear();
  a.request = nullptr;
}

void flush_ops(bool forced) {
  Activity& a = activity();
  std::unique_lock lock(a.mutex);
  collect(a, forced);
  for (auto& [thread, buffer] : a.open) {
    if (buffer.data != nullptr && buffer.used > 0) {
      finish_buffer(a, buffer);
      buffer = {};
    }
  }
  a.changed.wait(lock, [&] { return a.done.empty() && a.delivering == 0; });
}

uint64_t take_dropped() {
  const std::lock_guard lock(activity().mutex);
  const uint64_t dropped = activity().dropped;
  activity().dropped = 0;
  return dropped;
}

}  // namespace gpuprof::mock
