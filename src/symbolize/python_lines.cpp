#include "symbolize/python_lines.h"

#include <cstddef>

namespace gpuprof::symbolize {
namespace {

using Table = std::span<const uint8_t>;

constexpr uint32_t kMinor = 16;  // PY_VERSION_HEX >> kMinor is 0xMMmm, the major and minor version
constexpr uint32_t kVersion3_10 = 0x030a;
constexpr uint32_t kVersion3_11 = 0x030b;

// Returns 0 for a line number that cannot exist. The deltas of a broken table can sum to one.
uint32_t valid_line(int64_t line) {
  return line > 0 && line <= INT32_MAX ? static_cast<uint32_t>(line) : 0;
}

// Parses co_lnotab. It holds pairs of bytes: a code delta, and a signed line delta.
uint32_t line_by_lnotab(Table table, int64_t line, uint32_t offset) {
  uint64_t at = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    at += table[i];
    if (at > offset) {
      break;
    }
    line += static_cast<int8_t>(table[i + 1]);
  }
  return valid_line(line);
}

// Parses the table of PEP 626. It holds pairs of bytes: the length of a code range, and its signed line delta to the
// previous range.
uint32_t line_by_ranges(Table table, int64_t line, uint32_t offset) {
  constexpr int8_t kNoLine = -128;
  uint64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    end += table[i];
    const auto delta = static_cast<int8_t>(table[i + 1]);
    line += delta == kNoLine ? 0 : delta;
    if (offset < end) {
      return delta == kNoLine ? 0 : valid_line(line);
    }
  }
  return 0;
}

// Parses the table of PEP 657. The first byte of each entry has its top bit set. In all other bytes it is clear.
class Locations {
 public:
  explicit Locations(Table table) : table_(table) {}

  // Returns false at the end, and if the table is broken.
  bool next() {
    constexpr uint32_t kEntry = 0x80;
    constexpr uint32_t kUnitBytes = 2;
    while (at_ < table_.size() && (table_[at_] & kEntry) == 0) {
      ++at_;  // skip the columns of the previous entry
    }
    if (at_ == table_.size()) {
      return false;
    }
    const uint32_t head = table_[at_++];
    length_ = ((head & 7U) + 1) * kUnitBytes;
    const uint32_t kind = head >> 3U & 15U;
    // In entries of the kinds 10 to 12, the line delta is the kind minus 10.
    constexpr uint32_t kOneLine = 10;
    constexpr uint32_t kNoColumns = 13;
    constexpr uint32_t kNone = 15;
    has_line_ = kind != kNone;
    delta_ = 0;
    if (kind >= kOneLine && kind < kNoColumns) {
      delta_ = kind - kOneLine;
    } else if (kind >= kNoColumns && kind != kNone) {
      delta_ = signed_number();
    }
    return true;
  }

  [[nodiscard]] uint32_t length() const { return length_; }
  [[nodiscard]] int64_t delta() const { return delta_; }  // lines from the previous entry to this one
  [[nodiscard]] bool has_line() const { return has_line_; }

 private:
  // Reads a number of six bits per byte, lowest bits first. Its lowest bit is the sign.
  int64_t signed_number() {
    constexpr uint32_t kMore = 0x40;
    constexpr uint32_t kMaxShift = 30;  // lines are 32-bit ints, so higher bits are ignored
    uint64_t number = 0;
    uint32_t shift = 0;
    while (at_ < table_.size()) {
      const uint32_t byte = table_[at_++];
      if (shift <= kMaxShift) {
        number |= static_cast<uint64_t>(byte & (kMore - 1)) << shift;
      }
      shift += 6;
      if ((byte & kMore) == 0) {
        break;
      }
    }
    const auto value = static_cast<int64_t>(number >> 1U);
    return (number & 1U) != 0 ? -value : value;
  }

  Table table_;
  size_t at_ = 0;
  uint32_t length_ = 0;
  int64_t delta_ = 0;
  bool has_line_ = false;
};

uint32_t line_by_locations(Table table, int64_t line, uint32_t offset) {
  Locations locations(table);
  uint64_t end = 0;
  while (locations.next()) {
    end += locations.length();
    line += locations.delta();
    if (offset < end) {
      return locations.has_line() ? valid_line(line) : 0;
    }
  }
  return 0;
}

}  // namespace

uint32_t python_line(const PythonLines& lines, uint32_t offset) {
  if (lines.table.empty() || offset == UINT32_MAX) {
    return lines.first_line;
  }
  const uint32_t version = lines.version >> kMinor;
  if (version < kVersion3_10) {
    return line_by_lnotab(lines.table, lines.first_line, offset);
  }
  if (version < kVersion3_11) {
    return line_by_ranges(lines.table, lines.first_line, offset);
  }
  return line_by_locations(lines.table, lines.first_line, offset);
}

}  // namespace gpuprof::symbolize
