#pragma once

#include <cstdint>
#include <cstring>

#include "base/safe_read.h"

namespace gpuprof::injection {

constexpr uint64_t kMaxAddress = 1ULL << 56U;
constexpr uint64_t kMinAddress = 4096;

// Reads the interpreter's structures. With `careful`, uses a system call for each read, because memory may be invalid.
// Otherwise reads directly, because the memory belongs to this thread, and rejects only impossible pointers.
class PythonMemory {
 public:
  explicit PythonMemory(bool careful) : careful_(careful) {}

  [[nodiscard]] bool careful() const { return careful_; }

  bool read(uint64_t address, void* to, size_t bytes) const {
    if (address < kMinAddress || address >= kMaxAddress) {
      return false;
    }
    if (careful_) {
      return safe_read(reinterpret_cast<const void*>(address), to, bytes);
    }
    memcpy(to, reinterpret_cast<const void*>(address), bytes);
    return true;
  }

  template <typename T>
  bool read(uint64_t address, T* to) const {
    return read(address, to, sizeof(T));
  }

  // Reads a field that holds a pointer to a structure, or null.
  bool pointer(uint64_t address, uint64_t* to) const { return read(address, to) && *to % 8 == 0; }

 private:
  bool careful_;
};

// A faster PythonMemory, used for each frame of each launch. The addresses passed to load() must have passed
// is_object().
template <bool kCareful>
struct FrameMemory {
  static bool is_object(uint64_t address) {
    return address % 8 == 0 && address - kMinAddress < kMaxAddress - kMinAddress;
  }

  template <typename T>
  static bool load(uint64_t address, T* to) {
    if constexpr (kCareful) {
      return safe_read(reinterpret_cast<const void*>(address), to, sizeof(T));
    }
    memcpy(to, reinterpret_cast<const void*>(address), sizeof(T));
    return true;
  }

  static PythonMemory any() { return PythonMemory(kCareful); }
};

}  // namespace gpuprof::injection
