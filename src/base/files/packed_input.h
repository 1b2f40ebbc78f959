// Input that is compressed: gzip and zstd, told by how it begins. It is unpacked as it is read, so a small file that
// unpacks to a huge one takes time, and not memory: at most 128 MiB, which is the largest window of a zstd frame that
// is read (as for zstd itself).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuprof {

class PackedInput {
 public:
  // Whether what begins with these bytes (four are enough) is compressed in a way that is read here.
  static bool knows(std::string_view begin);

  // `begun` is what has been read already, and knows() it.
  explicit PackedInput(std::string_view begun);
  PackedInput(const PackedInput&) = delete;
  PackedInput& operator=(const PackedInput&) = delete;
  ~PackedInput();

  // Unpacks up to `size` bytes (at least one) of what comes next, reading `fd` where that takes more; a negative `fd`
  // has nothing more. 0: the end. Compressed data that is damaged, or ends within itself, is an Error that says so.
  Result<size_t> read(int fd, char* out, size_t size);

  class Format;  // one of those that are read

 private:
  Status refill(int fd);

  std::unique_ptr<Format> format_;
  std::string packed_;  // read and not unpacked yet, from used_ on
  size_t used_ = 0;
  bool at_end_ = false;  // of what is read
};

}  // namespace gpuprof
