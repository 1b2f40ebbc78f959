#include "symbolize/elf/unwind_functions.h"

#include <cstddef>

namespace gpuprof::symbolize {
namespace {

// The header that GNU ld, gold, lld and mold write: a sorted table of pairs of 32-bit offsets from the header.
struct Header {
  uint8_t version;         // 1
  uint8_t frame_encoding;  // of `frame`
  uint8_t count_encoding;  // 0x03: 4 bytes
  uint8_t table_encoding;  // 0x3b: relative to the header, 4 bytes, signed
  int32_t frame;
  uint32_t count;
};
struct Pair {
  int32_t function;
  int32_t entry;
};
// The beginning of an entry (FDE) whose addresses are 4 bytes long and relative to their own place.
struct Entry {
  uint32_t length;
  uint32_t cie;  // distance to the CIE; 0: this is a CIE
  int32_t begin;
  uint32_t size;
};
static_assert(sizeof(Header) == 12 && sizeof(Pair) == 8 && sizeof(Entry) == 16);

uint64_t moved(uint64_t address, int32_t offset) {
  return address + static_cast<uint64_t>(int64_t{offset});
}

}  // namespace

std::optional<uint64_t> function_begin(const ElfImage& image, uint64_t vaddr) {
  const ElfSection* const table = image.section(".eh_frame_hdr");
  const ElfSection* const entries = image.section(".eh_frame");
  if (table == nullptr || entries == nullptr || !table->has_bytes() || !entries->has_bytes()) {
    return std::nullopt;
  }
  const uint64_t base = table->header.sh_addr;
  const uint64_t at = table->header.sh_offset;
  Header header{};
  if (!image.source().read(at, &header, sizeof header) || header.version != 1 || header.count_encoding != 0x03 ||
      header.table_encoding != 0x3b || header.count > table->header.sh_size / sizeof(Pair)) {
    return std::nullopt;
  }
  std::optional<Pair> last;  // last function that begins at or before `vaddr`
  for (uint64_t low = 0, high = header.count; low < high;) {
    const uint64_t middle = low + (high - low) / 2;
    Pair pair{};
    if (!image.source().read(at + sizeof header + middle * sizeof pair, &pair, sizeof pair)) {
      return std::nullopt;
    }
    if (moved(base, pair.function) <= vaddr) {
      low = middle + 1;
      last = pair;
    } else {
      high = middle;
    }
  }
  if (!last) {
    return std::nullopt;
  }
  const uint64_t begin = moved(base, last->function);
  const uint64_t place = moved(base, last->entry);
  const uint64_t offset = place - entries->header.sh_addr;
  Entry entry{};
  if (offset >= entries->header.sh_size ||
      !image.source().read(entries->header.sh_offset + offset, &entry, sizeof entry)) {
    return std::nullopt;
  }
  const bool is_function = entry.cie != 0 && moved(place + offsetof(Entry, begin), entry.begin) == begin;
  return is_function && vaddr - begin < entry.size ? std::optional(begin) : std::nullopt;
}

}  // namespace gpuprof::symbolize
