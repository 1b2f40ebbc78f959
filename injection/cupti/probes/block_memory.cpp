#include "cupti/probes/block_memory.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "cupti/probes/driver.h"
#include "cupti/session.h"
#include "ipc/ring.h"
#include "runtime/work.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint64_t kMostBlocks = uint64_t{1} << 21;   // 64 MB of each device
constexpr uint64_t kLeastBlocks = uint64_t{1} << 15;  // tried last, if the device has little memory
constexpr uint64_t kMostLaunches = 1U << 14;
constexpr uint64_t kRecordWaitNs = 10'000'000'000;
constexpr int kContexts = 16;
constexpr unsigned int kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING

enum State : uint32_t {
  kFree,      // cancelled or read
  kLaunched,  // its record has not come
  kEnded
};

// A launch that has taken memory, in the order of the memory.
struct Launch {
  uint64_t correlation;
  uint64_t taken_ns;
  uint64_t begin;  // first block in the memory; never wraps
  uint64_t end;
  GridShape shape;
  uint32_t state;  // atomic; State
  uint64_t grid_id;
  gpuprof_gpu_op op;
};

// The memory is a ring: launches take it in order, and it is free again once all earlier ones are read.
struct Memory {
  CUcontext context;
  uint32_t gone;  // atomic; 1: the context is being destroyed
  uint32_t device_sms;
  CUstream stream;
  CUdeviceptr base;
  uint64_t blocks;  // for which the memory has places
  uint64_t taken;   // position in blocks; never wraps
  uint64_t first;   // the oldest launch, and the next one: numbers that never wrap
  uint64_t next;
  uint64_t hint;     // the launch that probably ends next
  Launch* launches;  // kMostLaunches
};

constinit uint32_t lock = 0;
constinit uint32_t read_lock = 0;  // held by the thread that reads blocks
constinit Memory memories[kContexts] = {};
constinit BlockCounts counts = {};

// The streams of `memories`, also of contexts that are gone: CUPTI delivers the records of copies late.
struct OwnStream {
  uint32_t context_id;
  uint32_t stream_id;
};
constinit OwnStream own_streams[4 * kContexts] = {};
constinit uint64_t own_stream_count = 0;

// Waits up to 1 s, because GPU work would be lost without the lock.
template <uint32_t* kLock>
class LockOf {
 public:
  LockOf() : held_(try_lock_long(kLock)) {}
  ~LockOf() {
    if (held_) {
      unlock(kLock);
    }
  }
  LockOf(const LockOf&) = delete;
  LockOf& operator=(const LockOf&) = delete;
  explicit operator bool() const { return held_; }

 private:
  bool held_;
};
using Locked = LockOf<&lock>;
using ReadLock = LockOf<&read_lock>;

Launch& launch_at(const Memory& memory, uint64_t number) {
  return memory.launches[number % kMostLaunches];
}

// Allocates at a context's first probed launch. On failure, leaves the memory without blocks.
void allocate(CUcontext context, Memory* memory) {
  const ProbeDriver& driver = probe_driver();
  const Api& api = session().api;
  CUdevice device = 0;
  OwnStream own = {};
  int sms = 0;
  if (api.stream_id == nullptr || api.sampling.context_id == nullptr ||
      api.sampling.context_id(context, &own.context_id) != CUPTI_SUCCESS ||
      driver.create_stream(&memory->stream, kNonBlocking, 0) != CUDA_SUCCESS ||
      api.stream_id(context, memory->stream, 0, &own.stream_id) != CUPTI_SUCCESS ||
      driver.current_device(&device) != CUDA_SUCCESS ||
      driver.device_attribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) != CUDA_SUCCESS) {
    return;
  }
  own_streams[own_stream_count++ % std::size(own_streams)] = own;
  memory->device_sms = static_cast<uint32_t>(sms);
  memory->launches = static_cast<Launch*>(calloc(kMostLaunches, sizeof(Launch)));
  for (memory->blocks = kMostBlocks; memory->launches != nullptr && memory->blocks >= kLeastBlocks;
       memory->blocks /= 2) {
    if (driver.allocate(&memory->base, memory->blocks * sizeof(BlockTimes)) == CUDA_SUCCESS) {
      counts.gpu_bytes += memory->blocks * sizeof(BlockTimes);
      return;
    }
  }
  memory->blocks = 0;
}

Memory* memory_of(CUcontext context) {
  Memory* unused = nullptr;
  for (Memory& memory : memories) {
    if (memory.context == context && load_relaxed(&memory.gone) == 0) {
      return &memory;
    }
    unused = memory.context == nullptr && unused == nullptr ? &memory : unused;
  }
  if (unused != nullptr) {
    unused->context = context;
    allocate(context, unused);
  }
  return unused;
}

// Returns the position at which `count` blocks fit in one piece, or UINT64_MAX.
uint64_t place_for(const Memory& memory, uint64_t count) {
  const uint64_t left = memory.blocks - memory.taken % memory.blocks;
  const uint64_t begin = memory.taken + (left < count ? left : 0);
  const uint64_t oldest = memory.first == memory.next ? begin : launch_at(memory, memory.first).begin;
  return begin + count - oldest <= memory.blocks ? begin : UINT64_MAX;
}

Launch* find(uint64_t correlation) {
  for (Memory& memory : memories) {
    const uint64_t count = memory.next - memory.first;
    const uint64_t hint = memory.hint >= memory.first && memory.hint < memory.next ? memory.hint : memory.first;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t number = memory.first + (hint - memory.first + i) % count;
      Launch& launch = launch_at(memory, number);
      if (launch.correlation == correlation && launch.state == kLaunched) {
        memory.hint = number + 1;
        return &launch;
      }
    }
  }
  return nullptr;
}

// Frees the places of the oldest launches that have been read. A record that has not come for long will not come any
// more, or belongs to a kernel that runs for long: its later blocks are not taken for those of another launch.
void free_read(Memory* memory) {
  const uint64_t now = now_ns();
  for (; memory->first != memory->next; ++memory->first) {
    Launch& launch = launch_at(*memory, memory->first);
    if (launch.state == kLaunched && now - launch.taken_ns > kRecordWaitNs) {
      store_release(&launch.state, uint32_t{kFree});
      ++counts.unread;
    }
    if (launch.state != kFree) {
      return;
    }
  }
}

// Returns the record of the launch, or null.
gpuprof_blocks* read(const Memory& memory, const Launch& launch) {
  const ProbeDriver& driver = probe_driver();
  const uint64_t count = launch.end - launch.begin;
  auto* blocks = static_cast<BlockTimes*>(malloc(count * sizeof(BlockTimes)));
  if (blocks == nullptr) {
    return nullptr;
  }
  const CUdeviceptr from = memory.base + launch.begin % memory.blocks * sizeof(BlockTimes);
  gpuprof_blocks* record = nullptr;
  if (driver.copy_to_host(blocks, from, count * sizeof(BlockTimes), memory.stream) == CUDA_SUCCESS &&
      driver.wait_for_stream(memory.stream) == CUDA_SUCCESS) {
    const size_t kept = keep_written(blocks, count, launch.grid_id);
    record = kept == 0 ? nullptr : summarize_blocks(blocks, kept, launch.shape);
  }
  free(blocks);
  return record;
}

void send(const Memory& memory, const Launch& launch, gpuprof_blocks* record) {
  if (record != nullptr) {
    record->header.type = GPUPROF_RECORD_BLOCKS;
    record->correlation = launch.correlation;
    record->device_sms = memory.device_sms;
    if (gpuprof_segment* segment = open_segment(); segment != nullptr) {
      const size_t bytes = sizeof(gpuprof_blocks) + record->count * sizeof(gpuprof_block_bucket);
      write_record(segment, &record->header, bytes, nullptr, 0, true);
    }
    free(record);
  }
  gpu_op(launch.op, true);
}

// Reads what has ended, and sends it. Forgets the memory if its context is gone. The caller holds read_lock.
void read_memory(Memory* memory, uint64_t until_ns) {
  bool pushed = false;
  const auto may_read = [&] {
    if (load_acquire(&memory->gone) != 0 || now_ns() >= until_ns) {
      return false;
    }
    pushed = pushed || probe_driver().push_context(memory->context) == CUDA_SUCCESS;
    return pushed;
  };
  // Launching threads add launches meanwhile, but do not change those that have ended.
  for (uint64_t i = memory->first; i != load_acquire(&memory->next); ++i) {
    Launch& launch = launch_at(*memory, i);
    if (load_acquire(&launch.state) == kEnded) {
      gpuprof_blocks* record = may_read() ? read(*memory, launch) : nullptr;
      ++(record != nullptr ? counts.launches : counts.unread);
      send(*memory, launch, record);
      store_release(&launch.state, uint32_t{kFree});
    }
  }
  if (CUcontext popped = nullptr; pushed) {
    probe_driver().pop_context(&popped);
  }
  const Locked locked;
  if (locked && load_acquire(&memory->gone) != 0) {
    free(memory->launches);
    counts.gpu_bytes -= memory->blocks * sizeof(BlockTimes);
    *memory = {};
  } else if (locked) {
    free_read(memory);
  }
}

}  // namespace

uint64_t take_block_memory(CUcontext context, uint64_t correlation, const GridShape& shape) {
  const Locked locked;
  Memory* memory = locked ? memory_of(context) : nullptr;
  const uint64_t count = shape.blocks();
  if (memory == nullptr || count == 0 || count > memory->blocks || memory->next - memory->first == kMostLaunches) {
    return 0;
  }
  const uint64_t begin = place_for(*memory, count);
  if (begin == UINT64_MAX) {
    return 0;
  }
  memory->taken = begin + count;
  Launch& launch = launch_at(*memory, memory->next++);
  launch = {correlation, now_ns(), begin, begin + count, shape, kLaunched, 0, {}};
  return memory->base + begin % memory->blocks * sizeof(BlockTimes);
}

void cancel_block_memory(uint64_t correlation) {
  const Locked locked;
  Launch* launch = locked ? find(correlation) : nullptr;
  if (launch != nullptr) {
    store_release(&launch->state, uint32_t{kFree});
  }
}

bool keep_for_blocks(const gpuprof_gpu_op& op, uint64_t grid_id) {
  const Locked locked;
  Launch* launch = locked ? find(op.correlation) : nullptr;
  if (launch == nullptr) {
    return false;
  }
  launch->op = op;
  launch->grid_id = grid_id;
  store_release(&launch->state, uint32_t{kEnded});
  return true;
}

void read_blocks(CUcontext context, uint64_t until_ns) {
  const ReadLock reading;
  if (!reading) {
    return;
  }
  const OwnCalls own;
  for (Memory& memory : memories) {
    if (memory.context != nullptr && (context == nullptr || memory.context == context)) {
      read_memory(&memory, until_ns);
    }
  }
}

void forget_block_memory(CUcontext context) {
  for (Memory& memory : memories) {
    if (memory.context == context) {
      store_release(&memory.gone, 1U);
    }
  }
  read_blocks(context, 0);
}

bool is_own_stream(uint32_t context_id, uint32_t stream_id) {
  return std::any_of(std::begin(own_streams), std::end(own_streams), [&](const OwnStream& own) {
    return own.stream_id == stream_id && own.context_id == context_id && stream_id != 0;
  });
}

bool is_own_memory(uint64_t address) {
  return std::any_of(std::begin(memories), std::end(memories),
                     [&](const Memory& memory) { return memory.blocks != 0 && memory.base == address; });
}

BlockCounts block_counts() {
  return counts;
}

}  // namespace gpuprof::injection::cupti
