// Reads bytes of a file or of memory. Does not map files: if the owner truncated one, SIGBUS would kill gpuprof.
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
  // The descriptor or the memory must outlive the ByteSource, which does not own it.
  static ByteSource file(int fd);
  static ByteSource memory(std::span<const uint8_t> bytes);

  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] int fd() const { return fd_; }                              // -1: memory
  [[nodiscard]] std::span<const uint8_t> memory() const { return bytes_; }  // empty: a file

  // Returns the number of bytes read: less than `size` only at the end or on an error.
  [[nodiscard]] size_t read_some(uint64_t offset, void* buffer, size_t size) const;
  [[nodiscard]] bool read(uint64_t offset, void* buffer, size_t size) const {
    return read_some(offset, buffer, size) == size;
  }
  // Returns false if the range is not inside the source, or is larger than `limit`.
  [[nodiscard]] bool read_range(uint64_t offset, uint64_t size, uint64_t limit, std::vector<uint8_t>& out) const;
  // Returns the NUL-terminated string at `offset`, which must end before `end`. Truncates it to `limit` bytes.
  [[nodiscard]] std::string read_string(uint64_t offset, uint64_t end, size_t limit) const;

 private:
  int fd_ = -1;
  std::span<const uint8_t> bytes_;
  uint64_t size_ = 0;
};

}  // namespace gpuprof::symbolize
