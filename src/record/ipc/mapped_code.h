// Maps the bytes of a code object from the recorder's memfd, which no other process can change or truncate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace gpuprof::record {

class MappedCode {
 public:
  MappedCode() = default;
  // Maps `bytes` bytes of the file at `offset`, read-only. If that fails, bytes() returns an empty span.
  MappedCode(int fd, uint64_t offset, uint64_t bytes);
  ~MappedCode();
  MappedCode(MappedCode&& other) noexcept
      : mapping_(std::exchange(other.mapping_, {})), bytes_(std::exchange(other.bytes_, {})) {}
  MappedCode& operator=(MappedCode&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  MappedCode(const MappedCode&) = delete;
  MappedCode& operator=(const MappedCode&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> mapping_;  // whole pages, unlike bytes_
  std::span<const std::byte> bytes_;
};

}  // namespace gpuprof::record
