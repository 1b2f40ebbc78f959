#include "unwind/cache/table_file.h"

#include <cstring>

#include "base/hash.h"
#include "unwind/cursor.h"

namespace gpuprof::unwind {
namespace {

// Increase this version when the layout changes, or when the same section would yield other rules than before.
constexpr uint32_t kVersion = 2;
constexpr char kMagic[8] = {'G', 'P', 'U', 'U', 'N', 'W', 'T', 'B'};

// The header is followed by pcs, rule indexes, zeros up to a multiple of 8, and rules. All numbers are little-endian.
struct Header {
  char magic[sizeof kMagic];
  uint32_t version;
  uint32_t rows;
  uint32_t rules;
  uint32_t reserved;
  uint64_t base;
  TableFile::Source source;
  uint64_t checksum;  // covers all bytes of the file; computed while this field is 0
};
static_assert(sizeof(Header) == 72);

struct Layout {
  explicit Layout(const Header& header)
      : indexes(sizeof(Header) + uint64_t{header.rows} * sizeof(uint32_t)),
        indexes_end(indexes + uint64_t{header.rows} * sizeof(uint16_t)),
        rules((indexes_end + 7) & ~uint64_t{7}),
        size(rules + uint64_t{header.rules} * sizeof(uint64_t)) {}

  uint64_t indexes;
  uint64_t indexes_end;
  uint64_t rules;
  uint64_t size;
};

// Computes a fast 64-bit hash, which is not cryptographic.
uint64_t hash_bytes(const void* bytes, size_t size, uint64_t seed) {
  Cursor in(static_cast<const uint8_t*>(bytes), static_cast<const uint8_t*>(bytes) + size, 0);
  uint64_t hash = fold_multiply(seed ^ kHashMultiplier, size + kHashMultiplier);
  while (in.left() >= sizeof(uint64_t)) {
    hash = fold_multiply(hash ^ in.number<uint64_t>(), kHashMultiplier) + 1;
  }
  while (!in.at_end()) {
    hash = fold_multiply(hash ^ in.number<uint8_t>(), kHashMultiplier) + 1;
  }
  return hash;
}

uint64_t checksum_of(Header header, std::span<const uint8_t> all) {
  header.checksum = 0;
  const uint64_t seed = hash_bytes(&header, sizeof header, kVersion);
  return hash_bytes(all.data() + sizeof header, all.size() - sizeof header, seed);
}

template <typename T>
void put(std::vector<uint8_t>& out, uint64_t at, const std::vector<T>& values) {
  std::memcpy(out.data() + at, values.data(), values.size() * sizeof(T));
}

template <typename T>
void get(std::span<const uint8_t> in, uint64_t at, uint64_t count, std::vector<T>& values) {
  values.resize(count);
  std::memcpy(values.data(), in.data() + at, count * sizeof(T));
}

}  // namespace

std::vector<uint8_t> TableFile::encode(const Table& table, const Source& source) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.rows = static_cast<uint32_t>(table.pcs_.size());
  header.rules = static_cast<uint32_t>(table.rules_.size());
  header.base = table.base_;
  header.source = source;
  const Layout layout(header);
  std::vector<uint8_t> out(layout.size);
  put(out, sizeof header, table.pcs_);
  put(out, layout.indexes, table.rule_indexes_);
  put(out, layout.rules, table.rules_);
  std::memcpy(out.data(), &header, sizeof header);
  seal(out);
  return out;
}

void TableFile::seal(std::span<uint8_t> bytes) {
  Header header{};
  if (bytes.size() >= sizeof header) {
    std::memcpy(&header, bytes.data(), sizeof header);
    header.checksum = checksum_of(header, bytes);
    std::memcpy(bytes.data(), &header, sizeof header);
  }
}

std::unique_ptr<Table> TableFile::decode(std::span<const uint8_t> bytes, const Source& source) {
  Header header{};
  if (bytes.size() < sizeof header) {
    return nullptr;
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  const Layout layout(header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.version != kVersion || header.source != source ||
      header.rows == 0 || header.rules == 0 || bytes.size() != layout.size ||
      header.checksum != checksum_of(header, bytes)) {
    return nullptr;
  }
  std::unique_ptr<Table> table(new Table);
  table->base_ = header.base;
  get(bytes, sizeof header, header.rows, table->pcs_);
  get(bytes, layout.indexes, header.rows, table->rule_indexes_);
  get(bytes, layout.rules, header.rules, table->rules_);
  // The checksum detects only accidental damage: a process that can write the file can also compute the checksum.
  if (!table->valid()) {
    return nullptr;
  }
  table->index_pages();
  return table;
}

}  // namespace gpuprof::unwind
