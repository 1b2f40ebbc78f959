// Lines of version 1 say in each measurement what later ones say once, in a WORK. Internal to the reader.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "profile/records.h"

namespace gpuprof::profile {

// Finds the id of a work: an open-addressing hash table over what lines of version 1 hold of one.
class Version1Works {
 public:
  Version1Works();

  // The id of a WORK like this one (its own id does not matter), and whether this is the first one.
  std::pair<WorkId, bool> intern(const Work& work);

  // Takes back the last intern(), which was of this new work.
  void forget(const Work& work);

 private:
  // One cache line.
  struct alignas(64) Key {
    ProcessId process{};
    StringId thread{};
    StackId ustack{};
    StackId kstack{};
    DeviceId device{};
    StringId name{};
    uint64_t stream = 0;
    Op op = Op::kernel;
    bool operator==(const Key&) const = default;
  };
  // The tag is part of the key's hash, so that a key of another work is hardly ever looked at.
  struct Slot {
    uint32_t id = 0;  // index in keys_ + 1; 0: empty
    uint32_t tag = 0;
  };

  static Key key_of(const Work& work);
  [[nodiscard]] uint64_t hash(const Key& key) const;
  // The slot of the key, or the empty one where it belongs.
  [[nodiscard]] size_t find(const Key& key, uint64_t h) const;
  void grow();

  std::vector<Key> keys_;
  std::vector<Slot> slots_;  // a power of two
  uint64_t seed_;            // keys come from a file: so it can not make them hit one slot
};

}  // namespace gpuprof::profile
