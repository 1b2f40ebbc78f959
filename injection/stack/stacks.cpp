#include "stack/stacks.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/keep_errno.h"
#include "base/map_once.h"
#include "ipc/ring.h"
#include "python/python.h"
#include "python/python_code.h"
#include "python/python_memory.h"
#include "stack/native_walk.h"
#include "stack/rule_cache.h"
#include "stack/stack_merge.h"
#include "stack/thread_stack.h"
#include "wire/hash.h"

namespace gpuprof::injection {
namespace {

constexpr uint32_t kSlots = 64;
constexpr uint32_t kWays = 8;  // a set of this many entries fills one cache line
constexpr uint32_t kSetsLog2 = 14;

// Memory of one walk. Each thread has a usual slot. Threads are spread over the slots, so most find their usual slot
// free and in the cache.
struct alignas(4096) Slot {
  uint32_t busy;   // id of the walking thread; 0: free
  uint32_t epoch;  // value of Memory::epoch when the walk began
  uint32_t victim;
  uint64_t sp;  // value of sp in the frame of the walk
  WalkMemory memory;
  MergedStack merged;
  uint32_t python_turn;   // index in `python` of the frames of the last merge
  uint32_t python_count;  // number of these frames
  NearCodes near_codes;
  PythonFrame python[2][GPUPROF_STACK_MAX_WORDS];
  CarefulPieces pieces;
  StackMerge::Run runs[GPUPROF_STACK_MAX_WORDS];
  uint64_t words[GPUPROF_STACK_MAX_WORDS + GPUPROF_STACK_MAX_MODULES];  // buffer for a stack that is sent
};

// All memory of stacks.cpp, in one mapping, whose unused pages cost nothing. `sent` holds the ids of stacks that the
// recorder has. If a set is full, a new id replaces an older one; the stack of the older one may then be sent again.
struct Memory {
  Slot slots[kSlots];
  // Slots for take_interrupted_stack(). Such a walk may interrupt another walk of its thread at any instruction, so it
  // must not use what that walk keeps in its slot, even before that slot is claimed.
  Slot handler_slots[kSlots];
  uint64_t sent[1U << kSetsLog2][kWays];
  // Bit i is set if ring i has a description of the module. The upper 16 bits are the epoch.
  uint32_t described_rings[WalkMemory::kMaxModules];
  uint32_t epoch;  // differs for each connection; entries of other epochs are ignored
};
constexpr uint32_t kNotDescribable = 1U << GPUPROF_RING_COUNT;
constexpr uint32_t kEpochShift = 16;
static_assert(kNotDescribable < 1U << kEpochShift && offsetof(Memory, sent) % 4096 == 0);
Memory* memory = nullptr;

// Returns whether a walk will never end, because its thread has exited, or has left the walk by a jump out of a signal
// handler.
bool is_abandoned(const Slot& slot, uint32_t holder, const ThreadState& thread, uint64_t sp) {
  const KeepErrno keep_errno;
  if (holder == thread.tid) {
    const StackRange own = {thread.stack_low, thread.stack_high};
    return within(own, sp) && within(own, slot.sp) && slot.sp < sp;
  }
  return syscall(SYS_tkill, holder, 0) != 0 && errno == ESRCH;
}

// Claims a slot. If a signal handler interrupts a walk and launches, its thread gets a second slot.
Slot* claim_slot(Memory* all, const ThreadState& thread, uint64_t sp) {
  if (all == nullptr) {
    return nullptr;
  }
  Slot* claimed = nullptr;
  Slot(&slots)[kSlots] = thread.in_handler != 0 ? all->handler_slots : all->slots;
  for (uint32_t i = 0; claimed == nullptr && i < kSlots; ++i) {
    Slot& slot = slots[(thread.tid + i) % kSlots];
    claimed = load_relaxed(&slot.busy) == 0 && swap_if(&slot.busy, 0, thread.tid) ? &slot : nullptr;
  }
  for (uint32_t i = 0; claimed == nullptr && i < kSlots; ++i) {
    Slot& slot = slots[i];
    const uint32_t holder = load_acquire(&slot.busy);
    const bool free = holder == 0 || is_abandoned(slot, holder, thread, sp);
    claimed = free && swap_if(&slot.busy, holder, thread.tid) ? &slot : nullptr;
  }
  if (claimed != nullptr) {
    claimed->epoch = load_acquire(&all->epoch);
    claimed->sp = sp;
  }
  return claimed;
}

bool was_sent(uint64_t (&set)[kWays], uint64_t id) {
  bool found = false;
  for (const uint64_t& way : set) {
    found |= load_relaxed(&way) == id;
  }
  return found;
}

void note_sent(uint64_t (&set)[kWays], uint64_t id, uint32_t* victim) {
  for (uint64_t& way : set) {
    if (load_relaxed(&way) == 0) {
      store_relaxed(&way, id);
      return;
    }
  }
  store_relaxed(&set[(*victim)++ % kWays], id);
}

uint32_t in_epoch(uint32_t described_rings, uint32_t epoch) {
  return described_rings >> kEpochShift == epoch ? described_rings : epoch << kEpochShift;
}

uint32_t described_in(const Memory& all, const Slot& slot, uint32_t index) {
  return in_epoch(load_acquire(&all.described_rings[index]), slot.epoch);
}

void note_described(Memory& all, const Slot& slot, uint32_t index, uint32_t bit) {
  uint32_t before = 0;
  do {
    before = load_acquire(&all.described_rings[index]);
  } while (!swap_if(&all.described_rings[index], before, in_epoch(before, slot.epoch) | bit));
}

// Sends a description of a module in the stack's ring, because the recorder may read the process's mappings too late.
bool describe_module_once(gpuprof_segment* segment, ThreadState& thread, Memory& all, Slot& slot, uint32_t index) {
  (void)ring_of(segment, thread);  // the thread may have written nothing yet
  const uint32_t ring = 1U << (thread.ring_plus_one - 1);
  if ((described_in(all, slot, index) & (ring | kNotDescribable)) != 0) {
    return true;
  }
  alignas(gpuprof_module) uint8_t head[sizeof(gpuprof_module)] = {};
  auto* record = reinterpret_cast<gpuprof_module*>(head);
  static_assert(sizeof(slot.memory.window) >= GPUPROF_WIRE_MAX_PATH);
  char* path = slot.memory.window;  // the window is not used between walks
  uint32_t done = kNotDescribable;
  if (describe_known_module(index, record, path)) {
    record->header.type = GPUPROF_RECORD_MODULE;
    record->module = index;
    if (!write_record(segment, thread, &record->header, sizeof(gpuprof_module), path, record->path_bytes, false)) {
      return false;
    }
    done = ring;
  }
  note_described(all, slot, index, done);
  return true;
}

// Returns the address by which a frame's module and rule are looked up.
uint64_t inside_of(const NativeFrame& frame) {
  const uint64_t address = frame.word & GPUPROF_WORD_ADDRESS;
  return (frame.word & GPUPROF_WORD_EXACT) != 0 ? address : address - 1;
}

// Collects the numbers of a stack's modules and describes the modules. Returns false if this failed.
bool describe_modules_once(gpuprof_segment* segment, ThreadState& thread, Memory& all, Slot& slot,
                           const NativeWalk& native, uint64_t* numbers, uint32_t* count) {
  uint32_t last = 0;
  const NativeFrame* const frames = slot.memory.stack.frames;
  for (uint32_t i = native.count; i > 0 && *count < GPUPROF_STACK_MAX_MODULES; --i) {
    const uint32_t index = module_of_address(slot.memory, inside_of(frames[i])).index;
    bool known = index == 0 || index == last;
    for (uint32_t k = 0; k < *count && !known; ++k) {
      known = numbers[k] == index;
    }
    last = index;
    if (known) {
      continue;
    }
    if (!describe_module_once(segment, thread, all, slot, index)) {
      return false;
    }
    if ((described_in(all, slot, index) & kNotDescribable) == 0) {
      numbers[(*count)++] = index;
    }
  }
  return true;
}

// Hashes the contents of the stack's modules that share addresses with an earlier or later file. With such a module,
// equal words may be a different stack. Returns 0 without such a module.
uint64_t hash_replaced(WalkMemory& walked, const NativeWalk& native) {
  constexpr uint64_t kC = 0xA0761D6478BD642FULL;
  uint64_t hash = 0;
  for (uint32_t i = native.count; i > 0; --i) {
    const uint64_t contents = module_of_address(walked, inside_of(walked.stack.frames[i])).contents;
    hash = contents == 0 ? hash : gpuprof_fold_multiply(hash ^ contents, kC);
  }
  return hash;
}

// Returns how many outermost Python frames of the last merge are the same now.
uint32_t common_frames(const PythonFrame* last, uint32_t last_count, const PythonFrame* now, uint32_t count) {
  const uint32_t most = last_count < count ? last_count : count;
  last += last_count;
  now += count;
  uint32_t common = 0;
  for (; common < most; ++common) {
    --last;
    --now;
    if (last->word != now->word || last->boundary != now->boundary) {
      break;
    }
  }
  return common;
}

// Returns the flags of the stack.
uint32_t merge(gpuprof_segment* segment, ThreadState& thread, const void* python, const NativeWalk& native,
               Slot& slot) {
  PythonFrame* const last = slot.python[slot.python_turn];
  PythonWalk frames = {slot.python[1 - slot.python_turn], GPUPROF_STACK_MAX_WORDS, 0, 0, &slot.near_codes};
  uint32_t flags = native.truncated != 0 ? GPUPROF_STACK_TRUNCATED : 0;
  const gpuprof_python_layout layout = python_layout();
  if (python != nullptr) {
    // Frames that were not walked may include a signal frame.
    const bool careful = native.in_signal != 0 || native.truncated != 0 || thread.in_handler != 0;
    if (careful) {
      slot.pieces.clear();
      frames.pieces = &slot.pieces;
    }
    walk_python(segment, thread, python, careful, &frames);
  }
  if (frames.truncated != 0) {
    flags |= GPUPROF_STACK_TRUNCATED;
  } else if (frames.count == 0 && layout.version != 0 && (layout.flags & GPUPROF_PYTHON_REFUSED) == 0) {
    flags |= GPUPROF_STACK_NO_PYTHON;
  }
  const MergeInput input = {slot.memory.stack.frames,
                            native.count,
                            frames.frames,
                            frames.count,
                            layout.eval_begin,
                            layout.eval_end,
                            native.common,
                            common_frames(last, slot.python_count, frames.frames, frames.count),
                            native.ascending != 0};
  const bool complete = StackMerge(input, &slot.merged, slot.runs, GPUPROF_STACK_MAX_WORDS).merge();
  slot.python_turn = 1 - slot.python_turn;
  slot.python_count = frames.count;
  return flags | (complete ? 0 : GPUPROF_STACK_TRUNCATED);
}

bool send_stack(gpuprof_segment* segment, ThreadState& thread, Memory& all, Slot& slot, const NativeWalk& native,
                uint32_t flags, uint64_t id) {
  const uint32_t count = slot.merged.count;
  for (uint32_t i = 0; i < count; ++i) {
    slot.words[i] = slot.merged.words[count - 1 - i];
  }
  uint32_t modules = 0;
  if (!describe_modules_once(segment, thread, all, slot, native, slot.words + count, &modules)) {
    return false;
  }
  alignas(gpuprof_stack) uint8_t head[sizeof(gpuprof_stack)] = {};
  auto* record = reinterpret_cast<gpuprof_stack*>(head);
  record->header.type = GPUPROF_RECORD_STACK;
  record->stack = id;
  record->count = count;
  record->flags = static_cast<uint16_t>(flags);
  record->modules = static_cast<uint16_t>(modules);
  return write_record(segment, thread, &record->header, sizeof(gpuprof_stack),
                      reinterpret_cast<const char*>(slot.words), (size_t{count} + modules) * sizeof(uint64_t), false);
}

// Returns the stack's id, and sends the stack if needed. Different sources, such as parent and child, have different
// ids.
uint64_t intern(gpuprof_segment* segment, ThreadState& thread, Memory& all, Slot& slot, const NativeWalk& native,
                uint32_t flags, bool* sent) {
  uint64_t seed = uint64_t{segment->source_id} << 32U | flags;
  if (load_relaxed(&modules_replaced) != 0) {
    seed ^= hash_replaced(slot.memory, native);
  }
  seed = gpuprof_fold_multiply(seed ^ GPUPROF_HASH_MULTIPLIER, slot.merged.count ^ GPUPROF_OTHER_MULTIPLIER);
  const uint64_t hash = gpuprof_fold_multiply(slot.merged.hash ^ seed, GPUPROF_HASH_MULTIPLIER);
  const uint64_t id = hash == 0 ? 1 : hash;
  auto& set = all.sent[id >> (64 - kSetsLog2)];
  const uint64_t key = id ^ slot.epoch * GPUPROF_HASH_MULTIPLIER;
  *sent = was_sent(set, key);
  if (!*sent) {
    *sent = send_stack(segment, thread, all, slot, native, flags, id);
    if (*sent) {
      note_sent(set, key, &slot.victim);
    }
  }
  return id;
}

}  // namespace

namespace {

// `context`: the registers of the interrupted code, or null to walk from the caller. Inlined, so that gpuprof's frames
// on the stack do not depend on the kind of walk.
__attribute__((always_inline)) inline uint64_t take(gpuprof_segment* segment, ThreadState& thread, const void* python,
                                                    const void* context) {
  Memory* all = map_once(&memory);  // a local copy: a fork in a signal handler resets `memory`
  const auto sp = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  Slot* slot = claim_slot(all, thread, sp);
  bool sent = false;
  uint64_t id = 0;
  if (slot != nullptr) {
    NativeWalk native = {};
    native.capacity = GPUPROF_STACK_MAX_WORDS;
    native.memory = &slot->memory;
    const uint64_t walked_sp = context != nullptr ? interrupted_sp(context) : sp;
    native.own = own_stack(thread, walked_sp, slot->memory.window, sizeof(slot->memory.window));
    const bool reusable = slot->merged.reusable != 0;
    // If a signal handler interrupts this function and never returns, the next stack must keep no words.
    slot->merged.reusable = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (context != nullptr) {
      walk_interrupted(&native, context);
    } else {
      walk_native(&native);
    }
    native.common = reusable ? native.common : 0;
    if (native.count != 0) {
      id = intern(segment, thread, *all, *slot, native, merge(segment, thread, python, native, *slot), &sent);
    }
    store_release(&slot->busy, 0U);
  }
  return sent ? id : 0;
}

}  // namespace

uint64_t take_stack(gpuprof_segment* segment, ThreadState& thread, const void* python) {
  return take(segment, thread, python, nullptr);
}

uint64_t take_interrupted_stack(gpuprof_segment* segment, ThreadState& thread, const void* python,
                                const void* context) {
  return take(segment, thread, python, context);
}

// Keeps the slots: walks of the previous connection may not have finished.
void forget_stacks() {
  if (Memory* all = load_acquire(&memory); all != nullptr) {
    store_release(&all->epoch, (all->epoch + 1) % (1U << kEpochShift));
    madvise(all->sent, sizeof(all->sent),
            MADV_DONTNEED);  // if this fails, old ids occupy entries until new ids replace them
  }
}

// Leaks the memory, because this may run in a signal handler that has interrupted a walk. That walk then continues.
void reset_stacks() {
  store_release(&memory, static_cast<Memory*>(nullptr));
}

}  // namespace gpuprof::injection
