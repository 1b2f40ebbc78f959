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

// Copies of memory for one careful walk, so that one system call serves many fields. Not valid after the walk.
class CarefulPieces {
 public:
  void clear() { memset(begin_, 0, sizeof(begin_)); }

  bool load(uint64_t address, void* to, size_t bytes) {
    const uint64_t begin = address & ~(kBytes - 1);
    const uint64_t at = address - begin;
    if (at + bytes > kBytes) {
      return safe_read(reinterpret_cast<const void*>(address), to, bytes);
    }
    uint32_t piece = 0;
    while (piece < kPieces && begin_[piece] != begin) {
      ++piece;
    }
    if (piece == kPieces) {
      piece = next_++ % kPieces;
      begin_[piece] = 0;
      if (!safe_read(reinterpret_cast<const void*>(begin), bytes_[piece], kBytes)) {
        return false;
      }
      begin_[piece] = begin;
    }
    memcpy(to, bytes_[piece] + at, bytes);
    return true;
  }

 private:
  static constexpr uint64_t kBytes = 1024;  // a piece is in one page, so all of it is readable or nothing
  static constexpr uint32_t kPieces = 8;
  uint64_t begin_[kPieces];
  uint32_t next_;
  char bytes_[kPieces][kBytes];
};

// A faster PythonMemory, used for each frame of each launch. The addresses passed to load() must have passed
// is_object().
template <bool kCareful>
struct FrameMemory {
  CarefulPieces* pieces = nullptr;  // null: a careful load is a system call

  static bool is_object(uint64_t address) {
    return address % 8 == 0 && address - kMinAddress < kMaxAddress - kMinAddress;
  }

  template <typename T>
  bool load(uint64_t address, T* to) const {
    if constexpr (kCareful) {
      if (pieces != nullptr) {
        return pieces->load(address, to, sizeof(T));
      }
      return safe_read(reinterpret_cast<const void*>(address), to, sizeof(T));
    }
    memcpy(to, reinterpret_cast<const void*>(address), sizeof(T));
    return true;
  }

  static PythonMemory any() { return PythonMemory(kCareful); }
};

}  // namespace gpuprof::injection
