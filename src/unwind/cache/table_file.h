// Reads and writes tables as files of the cache directory. Internal to src/unwind, its fuzzer and tests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "unwind/table.h"

namespace gpuprof::unwind {

class TableFile {
 public:
  using Source = TableSource;

  static std::vector<uint8_t> encode(const Table& table, const Source& source);
  // Returns null if the bytes are incomplete, damaged, of another version, or built from another source.
  static std::unique_ptr<Table> decode(std::span<const uint8_t> bytes, const Source& source);
  // Sets the checksum in the header. Does nothing if the bytes are shorter than a header.
  static void seal(std::span<uint8_t> bytes);
};

// Manages a directory in which only the current user can have written the files. If the files exceed `max_bytes`, the
// least recently used ones are deleted. Files with names that write() does not produce are never touched.
class CacheDirectory {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
  // A name consists of hexadecimal digits and kSuffix.
  static constexpr std::string_view kSuffix = ".gpuprof-unwind";

  // Opens the directory, and creates missing components with access for this user only. Returns nullopt if that fails,
  // if other users may write to the directory, or if another user may have created a link in the path.
  static std::optional<CacheDirectory> open(const std::string& path, uint64_t max_bytes = kMaxBytes);

  // Returns nullopt if the file is missing or belongs to another user.
  [[nodiscard]] std::optional<std::vector<uint8_t>> read(const std::string& name) const;
  // Replaces the file atomically. Returns false for invalid names, and after an error.
  bool write(const std::string& name, std::span<const uint8_t> bytes) const;

 private:
  CacheDirectory(UniqueFd fd, uint64_t max_bytes) : fd_(std::move(fd)), max_bytes_(max_bytes) {}
  void evict(uint64_t bytes) const;

  UniqueFd fd_;
  uint64_t max_bytes_;
};

}  // namespace gpuprof::unwind
