#include "ipc/ring.h"

#include <cstring>
#include <ctime>

#include "base/atomics.h"
#include "base/monotonic_clock.h"

namespace gpuprof::injection {
namespace {

// While a ring is full, a thread sleeps up to this many times and this long each time. In sum, this is the time after
// which a recorder that does not poll counts as gone: a recorder that is only busy frees space earlier.
constexpr long kWaitNs = 500000;
constexpr int kWaits = GPUPROF_RECORDER_ALIVE_NS / kWaitNs;
constexpr int kLockWaits = 5;  // number of further attempts to get the lock; each lasts kLockWaitNs

// These bytes of each ring are reserved for records that cannot wait, and for the rest of a launch. Records that may
// wait come in bursts, which would fill all rings. Without the record of a launch, which cannot wait, all of its GPU
// work would belong to no known launch.
constexpr uint64_t kReserved = GPUPROF_RING_BYTES / 2;

uint32_t next_ring = 0;

// One plus the ring's tail when a wait for free space timed out. No thread waits for this ring again until its tail
// moves.
uint64_t stuck_tail[GPUPROF_RING_COUNT];

struct FreeSpace {
  uint8_t* data;
  uint64_t head;
  uint32_t pad;  // bytes to skip before the record, so that the record does not wrap
};

// Finds free space in the ring, apart from `reserved` bytes. Returns false if the ring is full, or if the tail is
// invalid: a write could then go anywhere. Needs the lock.
bool find_free_space(gpuprof_segment* segment, uint32_t index, uint32_t bytes, uint64_t reserved, FreeSpace* place) {
  const gpuprof_ring& ring = segment->rings[index];
  const uint64_t head = load_relaxed(&ring.head);
  const uint64_t used = head - load_acquire(&ring.tail);
  const auto offset = static_cast<uint32_t>(head % GPUPROF_RING_BYTES);
  const uint32_t to_end = GPUPROF_RING_BYTES - offset;
  const uint32_t pad = to_end < bytes ? to_end : 0;
  if (used > GPUPROF_RING_BYTES || GPUPROF_RING_BYTES - used < uint64_t{pad} + bytes + reserved || head % 8 != 0) {
    return false;
  }
  auto* base = reinterpret_cast<uint8_t*>(segment) + GPUPROF_SEGMENT_DATA_OFFSET + size_t{index} * GPUPROF_RING_BYTES;
  *place = {base, head, pad};
  return true;
}

void write_record_at(gpuprof_ring& ring, const FreeSpace& place, const gpuprof_record* head, size_t head_bytes,
                     const char* text, size_t text_bytes) {
  uint64_t position = place.head;
  if (place.pad != 0) {
    const gpuprof_record skip = {GPUPROF_RECORD_PAD, 0, place.pad};
    memcpy(place.data + position % GPUPROF_RING_BYTES, &skip, sizeof(skip));
    position += place.pad;
  }
  uint8_t* to = place.data + position % GPUPROF_RING_BYTES;
  memcpy(to, head, head_bytes);
  if (text_bytes != 0) {
    memcpy(to + head_bytes, text, text_bytes);
  }
  memset(to + head_bytes + text_bytes, 0, head->bytes - head_bytes - text_bytes);
  store_release(&ring.head, position + head->bytes);
}

bool recorder_alive(const gpuprof_segment* segment) {
  const uint64_t heartbeat = load_relaxed(&segment->heartbeat_ns);
  const uint64_t now = now_ns();
  return heartbeat >= now || now - heartbeat < GPUPROF_RECORDER_ALIVE_NS;
}

// Sleeps once. Returns false without sleeping after kWaits sleeps, if the tail is stuck, if the recorder is gone, or if
// this thread may not wait.
bool wait_for_space(const gpuprof_segment* segment, uint32_t index, int naps) {
  if (naps >= kWaits) {
    for (uint32_t ring = 0; ring < GPUPROF_RING_COUNT; ++ring) {
      store_relaxed(&stuck_tail[ring], load_relaxed(&segment->rings[ring].tail) + 1);
    }
    return false;
  }
  if (load_relaxed(&stuck_tail[index]) == load_relaxed(&segment->rings[index].tail) + 1 || !recorder_alive(segment) ||
      (thread_state().in_backlog != 0 && thread_state().completes_launch == 0)) {
    return false;
  }
  const timespec nap = {0, kWaitNs};
  nanosleep(&nap, nullptr);  // a signal only shortens the sleep
  return true;
}

// Counts the loss of a record that was not written. A lost GPU_OP counts as `why`, other types count as
// GPUPROF_LOSS_DETAIL. Types that are sent again later, or whose loss the caller counts, are not counted here.
void count_unwritten(gpuprof_ring& ring, uint32_t type, gpuprof_loss why) {
  switch (type) {
    case GPUPROF_RECORD_GPU_OP:
      add_relaxed(&ring.lost[why], uint64_t{1});
      break;
    case GPUPROF_RECORD_LAUNCH:  // the caller counts the loss of these records
    case GPUPROF_RECORD_STACK:
    case GPUPROF_RECORD_MODULE:
    case GPUPROF_RECORD_PYTHON:  // sent again later
    case GPUPROF_RECORD_MAPPINGS:
      break;
    default:
      add_relaxed(&ring.lost[GPUPROF_LOSS_DETAIL], uint64_t{1});
  }
}

}  // namespace

gpuprof_ring& ring_of(gpuprof_segment* segment, ThreadState& thread) {
  if (thread.ring_plus_one == 0) {
    thread.ring_plus_one = add_relaxed(&next_ring, 1U) % GPUPROF_RING_COUNT + 1;
  }
  return segment->rings[thread.ring_plus_one - 1];
}

namespace {

// Writes a record. `stay`: uses only the thread's ring, even if that is full.
bool write(gpuprof_segment* segment, ThreadState& thread, gpuprof_record* head, size_t head_bytes, const char* text,
           size_t text_bytes, bool may_wait, bool stay) {
  (void)ring_of(segment, thread);
  head->pad = 0;
  head->bytes = static_cast<uint32_t>((head_bytes + text_bytes + 7) / 8 * 8);
  ++thread.in_write;
  gpuprof_loss loss = GPUPROF_LOSS_RING_FULL;
  bool written = false;
  uint32_t full = 0;
  for (int naps = 0;;) {
    const uint32_t index = thread.ring_plus_one - 1;
    gpuprof_ring& ring = segment->rings[index];
    if (thread.in_handler != 0 ? !try_lock_briefly(&ring.lock) : !try_lock_bounded(&ring.lock)) {
      loss = GPUPROF_LOSS_RING_BUSY;
      if (may_wait && naps++ < kLockWaits) {
        continue;
      }
      break;
    }
    loss = GPUPROF_LOSS_RING_FULL;
    FreeSpace place = {};
    written =
        find_free_space(segment, index, head->bytes, may_wait && thread.completes_launch == 0 ? kReserved : 0, &place);
    if (written) {
      write_record_at(ring, place, head, head_bytes, text, text_bytes);
    }
    unlock(&ring.lock);
    if (written || !may_wait) {
      break;
    }
    if (!stay && ++full < GPUPROF_RING_COUNT) {
      // Goes to the next ring, so that a burst of one thread may use all rings.
      thread.ring_plus_one = (index + 1) % GPUPROF_RING_COUNT + 1;
    } else if (!wait_for_space(segment, index, naps++)) {
      break;
    }
  }
  if (!written) {
    count_unwritten(ring_of(segment, thread), head->type, loss);
  }
  --thread.in_write;
  return written;
}

}  // namespace

bool write_record(gpuprof_segment* segment, ThreadState& thread, gpuprof_record* head, size_t head_bytes,
                  const char* text, size_t text_bytes, bool may_wait) {
  return write(segment, thread, head, head_bytes, text, text_bytes, may_wait, false);
}

bool write_record_to(gpuprof_segment* segment, uint32_t ring, gpuprof_record* head, size_t head_bytes, const char* text,
                     size_t text_bytes, bool may_wait) {
  ThreadState& thread = thread_state();
  const uint32_t own = thread.ring_plus_one;
  thread.ring_plus_one = ring % GPUPROF_RING_COUNT + 1;
  const bool written = write(segment, thread, head, head_bytes, text, text_bytes, may_wait, true);
  thread.ring_plus_one = own;
  return written;
}

uint32_t writing_threads() {
  return load_relaxed(&next_ring);
}

void reset_rings() {
  for (uint64_t& tail : stuck_tail) {
    tail = 0;
  }
}

}  // namespace gpuprof::injection
