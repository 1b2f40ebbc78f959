#include "runtime/launch_notes.h"

#include <sys/mman.h>

#include <cstddef>

#include "base/atomics.h"
#include "base/map_once.h"
#include "wire/wire.h"

namespace gpuprof::injection {
namespace {

constexpr size_t kSlots = size_t{1} << 18;
constexpr uint32_t kFlagBits = 2;
constexpr uint64_t kTakenBit = uint64_t{1} << kFlagBits;
constexpr uint64_t kHostBit = kTakenBit << 1;
constexpr uint64_t kIdMask = (uint64_t{1} << (62 - kFlagBits)) - 1;

// A writer stores the key (id and flags; 0: empty) last. A reader loads it first and again at the end, so it never
// mixes two launches. Two writers never use a slot at once, because their ids would have to differ by 2^17.
struct Slot {
  uint64_t key;
  uint64_t name;
};

Slot* table = nullptr;

uint64_t key_of(uint64_t correlation) {
  const bool host = (correlation & GPUPROF_CORRELATION_HOST) != 0;
  return (correlation & kIdMask) << (kFlagBits + 2) | (host ? kHostBit : 0) | kTakenBit;
}

// Launches and waiting calls are numbered separately, so two of them may have equal ids. They use different slots.
Slot& slot_of(Slot* slots, uint64_t correlation) {
  const bool host = (correlation & GPUPROF_CORRELATION_HOST) != 0;
  return slots[(correlation + (host ? kSlots / 2 : 0)) % kSlots];
}

}  // namespace

bool remember_launch(uint64_t correlation, const LaunchNote& note) {
  Slot* slots = map_once(&table, kSlots);
  if (slots == nullptr) {
    return false;
  }
  Slot& slot = slot_of(slots, correlation);
  store_relaxed(&slot.key, uint64_t{0});
  // Release: a thread that reads the new name also sees the empty key.
  store_release(&slot.name, uint64_t{note.name});
  store_release(&slot.key, key_of(correlation) | note.flags);
  return true;
}

void forget_launch(uint64_t correlation) {
  Slot* slots = load_acquire(&table);
  if (slots == nullptr) {
    return;
  }
  Slot& slot = slot_of(slots, correlation);
  const uint64_t key = load_relaxed(&slot.key);
  if (key != 0 && (key & ~(kTakenBit - 1)) == key_of(correlation)) {
    store_relaxed(&slot.key, uint64_t{0});
  }
}

bool find_launch(uint64_t correlation, LaunchNote* note) {
  Slot* slots = load_acquire(&table);
  if (slots == nullptr) {
    return false;
  }
  const Slot& slot = slot_of(slots, correlation);
  const uint64_t key = load_acquire(&slot.key);
  if (key == 0 || (key & ~(kTakenBit - 1)) != key_of(correlation)) {
    return false;
  }
  const uint64_t name = load_acquire(&slot.name);
  if (load_relaxed(&slot.key) != key) {
    return false;
  }
  *note = {static_cast<uint32_t>(key & (kTakenBit - 1)), static_cast<uint32_t>(name)};
  return true;
}

void reset_launches() {
  // The table stays mapped, because a signal handler that forks may have interrupted a writer. The writer continues in
  // the child.
  if (table != nullptr && madvise(table, kSlots * sizeof(Slot), MADV_DONTNEED) != 0) {
    table = nullptr;
  }
}

}  // namespace gpuprof::injection
