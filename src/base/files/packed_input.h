// Unpacks gzip and zstd input (recognized by its first bytes) piece by piece. A small file may unpack to a huge one.
// Unpacking then takes time, but at most 128 MiB of memory: the largest accepted window of a zstd frame.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuprof {

class PackedInput {
 public:
  // Returns whether these first bytes belong to a supported compression format. Four bytes are enough.
  static bool knows(std::string_view begin);

  // `begun` is the beginning of the input, which the caller has already read. knows(begun) must be true.
  explicit PackedInput(std::string_view begun);
  PackedInput(const PackedInput&) = delete;
  PackedInput& operator=(const PackedInput&) = delete;
  ~PackedInput();

  // Unpacks up to `size` bytes, and reads `fd` if necessary. If `fd` is negative, the input has no more bytes.
  // Returns at least 1, or 0 at the end. If the data is damaged or truncated, returns an Error that says so.
  Result<size_t> read(int fd, char* out, size_t size);

  class Format;

 private:
  Status refill(int fd);

  std::unique_ptr<Format> format_;
  std::string packed_;  // bytes that were read; those from used_ on are not unpacked yet
  size_t used_ = 0;
  bool at_end_ = false;
};

}  // namespace gpuprof
