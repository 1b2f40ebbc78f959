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
  // Whether these first bytes (four suffice) belong to a supported compression format.
  static bool knows(std::string_view begin);

  // `begun` is what the caller has already read from the input. knows(begun) must be true.
  explicit PackedInput(std::string_view begun);
  PackedInput(const PackedInput&) = delete;
  PackedInput& operator=(const PackedInput&) = delete;
  ~PackedInput();

  // Unpacks up to `size` bytes (at least one), and reads `fd` if necessary. A negative `fd` has no more input.
  // Returns 0 at the end. Damaged or truncated data is an Error that says so.
  Result<size_t> read(int fd, char* out, size_t size);

  class Format;  // implemented for each supported format

 private:
  Status refill(int fd);

  std::unique_ptr<Format> format_;
  std::string packed_;  // read but not yet unpacked, from used_ on
  size_t used_ = 0;
  bool at_end_ = false;  // end of the input reached
};

}  // namespace gpuprof
