// Storage for texts, and a hash function for texts. The storage is mapped with mmap, so it does not use the target's
// malloc. It is never freed, because readers take no lock.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wire/hash.h"

namespace gpuprof::injection {

// Maps zeroed memory. Returns null if memory is exhausted.
inline void* map_memory(size_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

// Hashes eight bytes per step, because this runs at every launch. Different texts may have equal hashes, so callers
// must compare the texts, too.
inline uint64_t hash_text(uint64_t seed, const char* text, size_t length) {
  uint64_t hash = gpuprof_mix_hash(seed, length);
  while (length > 0) {
    uint64_t word = 0;
    const size_t step = length < sizeof(word) ? length : sizeof(word);
    memcpy(&word, text, step);
    hash = gpuprof_mix_hash(hash, word);
    text += step;
    length -= step;
  }
  return hash;
}

// Appends texts to chunks of mapped memory. The owner must lock. No text may be longer than a chunk.
template <size_t kMaxBytes, size_t kChunkBytes>
struct TextArena {
  char* chunk = nullptr;
  size_t chunk_left = 0;
  size_t bytes = 0;

  // Copies a text. Returns null if the byte limit is reached or memory is exhausted.
  char* keep(const char* text, size_t length) {
    if (bytes + length > kMaxBytes) {
      return nullptr;
    }
    if (length > chunk_left) {
      auto* next = static_cast<char*>(map_memory(kChunkBytes));
      if (next == nullptr) {
        return nullptr;
      }
      chunk = next;
      chunk_left = kChunkBytes;
    }
    char* kept = chunk;
    memcpy(kept, text, length);
    chunk += length;
    chunk_left -= length;
    set_bytes(bytes + length);
    return kept;
  }

  // Returns the bytes in use. Needs no lock; the value may be slightly old.
  [[nodiscard]] size_t bytes_kept() const { return __atomic_load_n(&bytes, __ATOMIC_RELAXED); }

  void drop_last(size_t length) {
    chunk -= length;
    chunk_left += length;
    set_bytes(bytes - length);
  }

 private:
  void set_bytes(size_t value) { __atomic_store_n(&bytes, value, __ATOMIC_RELAXED); }
};

}  // namespace gpuprof::injection
