// Bytes of a file or of memory, read by offset. Files are read and never mapped: a mapped file that its owner
// truncates would kill gpuprof by SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gpuprof::symbolize {

class ByteSource {
 public:
  ByteSource() = default;
  // Neither owns what it reads: the descriptor or the memory must outlive it.
  static ByteSource file(int fd);
  static ByteSource memory(std::span<const uint8_t> bytes);

  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] int fd() const { return fd_; }

  // Number of bytes read, less than `size` only at the end or on an error.
  [[nodiscard]] size_t read_some(uint64_t offset, void* buffer, size_t size) const;
  // All or nothing.
  [[nodiscard]] bool read(uint64_t offset, void* buffer, size_t size) const {
    return read_some(offset, buffer, size) == size;
  }
  // False when the range does not lie in the source or is larger than `limit`.
  [[nodiscard]] bool read_range(uint64_t offset, uint64_t size, uint64_t limit, std::vector<uint8_t>& out) const;
  // A NUL-terminated string that starts at `offset` and ends before `end`; cut at `limit` bytes.
  [[nodiscard]] std::string read_string(uint64_t offset, uint64_t end, size_t limit) const;

 private:
  int fd_ = -1;
  std::span<const uint8_t> bytes_;
  uint64_t size_ = 0;
};

}  // namespace gpuprof::symbolize
