#include "python/python_table.h"

namespace gpuprof::injection {
namespace {

constexpr uint32_t kEntry = 0x80;  // set only in the first byte of an entry
constexpr uint32_t kNoColumns = 13;
constexpr uint32_t kNoLine = 15;

class Bytes {
 public:
  Bytes(const PythonMemory& memory, uint64_t from, uint64_t size) : memory_(memory), from_(from), left_(size) {}

  // Returns false at the end, or if memory cannot be read.
  bool peek(uint32_t* byte) {
    if (at_ == have_ && !refill()) {
      return false;
    }
    *byte = block_[at_];
    return true;
  }
  void skip() { ++at_; }
  [[nodiscard]] bool all_read() const { return left_ == 0 && at_ == have_; }

 private:
  bool refill() {
    const size_t bytes = left_ < sizeof(block_) ? left_ : sizeof(block_);
    if (bytes == 0 || !memory_.read(from_, block_, bytes)) {
      return false;
    }
    from_ += bytes;
    left_ -= bytes;
    at_ = 0;
    have_ = bytes;
    return true;
  }

  const PythonMemory& memory_;
  uint64_t from_;
  uint64_t left_;
  size_t at_ = 0;
  size_t have_ = 0;
  uint8_t block_[512];
};

// Reads a number: six bits per byte, lowest bits first.
uint32_t read_number(Bytes& bytes) {
  constexpr uint32_t kMore = 0x40;
  constexpr uint32_t kMaxShift = 30;
  uint32_t number = 0;
  uint32_t byte = 0;
  for (uint32_t shift = 0; bytes.peek(&byte) && (byte & kEntry) == 0; shift += 6) {
    bytes.skip();
    number |= shift <= kMaxShift ? (byte & (kMore - 1)) << shift : 0;
    if ((byte & kMore) == 0) {
      break;
    }
  }
  return number;
}

// Merges consecutive entries of the same line, if the format allows this.
class Writer {
 public:
  Writer(char* to, size_t capacity) : to_(to), capacity_(capacity) {}

  // `delta` is encoded as in the table: its lowest bit is the sign.
  void add(uint32_t units, uint32_t delta, bool has_line) {
    if (delta != 0 || has_line != has_line_) {
      flush();
      delta_ = delta;
      has_line_ = has_line;
    }
    units_ += units;
  }

  void flush() {
    constexpr uint64_t kMaxUnits = 8;  // maximum number of code units of an entry
    while (units_ != 0) {
      const uint64_t units = units_ < kMaxUnits ? units_ : kMaxUnits;
      put(kEntry | (has_line_ ? kNoColumns : kNoLine) << 3U | static_cast<uint32_t>(units - 1));
      if (has_line_) {
        put_number(delta_);
      }
      delta_ = 0;
      units_ -= units;
    }
  }

  // Returns 0 if the table did not fit.
  [[nodiscard]] size_t written() const { return used_ <= capacity_ ? used_ : 0; }

 private:
  void put(uint32_t byte) {
    if (used_ < capacity_) {
      to_[used_] = static_cast<char>(byte);
    }
    ++used_;
  }

  void put_number(uint32_t number) {
    constexpr uint32_t kMore = 0x40;
    for (; number >= kMore; number >>= 6U) {
      put((number & (kMore - 1)) | kMore);
    }
    put(number);
  }

  char* to_;
  size_t capacity_;
  size_t used_ = 0;
  uint64_t units_ = 0;
  uint32_t delta_ = 0;
  bool has_line_ = false;
};

}  // namespace

size_t copy_without_columns(const PythonMemory& memory, uint64_t from, uint64_t size, char* to, size_t capacity) {
  constexpr uint32_t kOneLine = 10;  // entries of the kinds 10 to 12 advance the line by kind - 10
  Bytes bytes(memory, from, size);
  Writer writer(to, capacity);
  uint32_t head = 0;
  while (bytes.peek(&head)) {
    bytes.skip();
    if ((head & kEntry) == 0) {
      continue;  // skip the columns of the previous entry
    }
    const uint32_t kind = head >> 3U & 15U;
    uint32_t delta = 0;
    if (kind >= kOneLine && kind < kNoColumns) {
      delta = (kind - kOneLine) << 1U;
    } else if (kind >= kNoColumns && kind != kNoLine) {
      delta = read_number(bytes);
    }
    writer.add((head & 7U) + 1, delta, kind != kNoLine);
  }
  writer.flush();
  return bytes.all_read() ? writer.written() : 0;
}

}  // namespace gpuprof::injection
