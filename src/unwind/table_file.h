// A table as a file in the cache directory. Internal to src/unwind; the fuzzer and the tests include it, too.
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
  // Of what the table was made: other contents, another table. See FrameSections.
  struct Source {
    uint64_t hash = 0;
    uint64_t size = 0;
  };

  static std::vector<uint8_t> encode(const Table& table, const Source& source);
  // Null when the bytes are not whole, were changed, are of another version or were made of something else.
  static std::unique_ptr<Table> decode(std::span<const uint8_t> bytes, const Source& source);
  // Gives bytes of at least a header the checksum that belongs to them.
  static void seal(std::span<uint8_t> bytes);
};

// A directory of files that only its owner can have written. Files that were not used for long go when there are too
// many bytes; of files with other names than write() gives none is ever touched.
class CacheDirectory {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
  // Names are hexadecimal digits, behind kContents or nothing, before kSuffix.
  static constexpr std::string_view kContents = "contents-";
  static constexpr std::string_view kSuffix = ".gpuprof-unwind";

  // Makes it and what is missing above it, with rights for the user alone. Nothing where that cannot be done, where
  // others may write into it, and where a link leads there that others may have put.
  static std::optional<CacheDirectory> open(const std::string& path, uint64_t max_bytes = kMaxBytes);

  // Nothing where the file is not there, or is not ours.
  [[nodiscard]] std::optional<std::vector<uint8_t>> read(const std::string& name) const;
  // All or nothing; an older file of that name is replaced. False for other names than those above.
  bool write(const std::string& name, std::span<const uint8_t> bytes) const;

 private:
  CacheDirectory(UniqueFd fd, uint64_t max_bytes) : fd_(std::move(fd)), max_bytes_(max_bytes) {}
  void make_room(uint64_t bytes) const;

  UniqueFd fd_;
  uint64_t max_bytes_;
};

}  // namespace gpuprof::unwind
