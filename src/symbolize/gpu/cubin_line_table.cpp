#include "symbolize/gpu/cubin_line_table.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace gpuprof::symbolize {
namespace {

constexpr size_t kMaxTables = 1 << 20;   // tables per section; each linked object file has one
constexpr size_t kMaxFiles = 1 << 16;    // limit of the files and of the folders in one table
constexpr size_t kMaxRows = 1 << 20;     // rows per sequence; a kernel of 1 MiB has 65536 instructions
constexpr size_t kMaxPath = 4096;        // bytes of a folder name or of a file name
constexpr size_t kHeaderLengthAt = 6;    // offset of the field header_length in the table
constexpr size_t kProgramOrigin = 10;    // the value of header_length counts from this offset
constexpr uint8_t kInlinedCall = 0x90;   // DW_LNE_NVIDIA_inlined_call
constexpr uint8_t kFunctionName = 0x91;  // DW_LNE_NVIDIA_set_function_name
constexpr uint8_t kSetAddress[] = {0, 9, DW_LNE_set_address};
constexpr uint8_t kEndSequence[] = {0, 1, DW_LNE_end_sequence};

// Reads from the front of a byte sequence. After a read beyond its end, values are 0 and ok() is false.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] size_t left() const { return bytes_.size(); }

  template <typename T>
  T number() {
    T value{};
    const std::span<const uint8_t> bytes = take(sizeof value);
    if (ok_) {
      std::memcpy(&value, bytes.data(), sizeof value);
    }
    return value;
  }

  std::span<const uint8_t> take(uint64_t size) {
    if (!ok_ || size > bytes_.size()) {
      ok_ = false;
      return {};
    }
    const std::span<const uint8_t> taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }

  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = number<uint8_t>();
      const uint64_t bits = byte & 0x7f;
      if (!ok_ || (shift == 63 && bits > 1)) {
        break;
      }
      value |= bits << shift;
      if ((byte & 0x80) == 0) {
        return value;
      }
    }
    ok_ = false;
    return 0;
  }

  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      const auto byte = number<uint8_t>();
      value |= uint64_t{byte & 0x7fU} << shift;
      if (!ok_) {
        return 0;
      }
      if ((byte & 0x80) == 0) {
        const bool negative = (byte & 0x40) != 0;
        return static_cast<int64_t>(negative ? value | (~uint64_t{0} << (shift + 7)) : value);
      }
    }
    ok_ = false;
    return 0;
  }

  std::string_view string() {
    const char* text = reinterpret_cast<const char*>(bytes_.data());
    const size_t length = ::strnlen(text, std::min(bytes_.size(), kMaxPath));
    if (take(length + 1).empty() || text[length] != '\0') {
      ok_ = false;
      return {};
    }
    return {text, length};
  }

 private:
  std::span<const uint8_t> bytes_;
  bool ok_ = true;
};

template <size_t Size>
bool ends_with(std::span<const uint8_t> bytes, const uint8_t (&what)[Size]) {
  return bytes.size() >= Size && std::memcmp(bytes.data() + bytes.size() - Size, what, Size) == 0;
}

}  // namespace

std::vector<uint64_t> CubinLineTable::find_all(std::span<const uint8_t> section) {
  std::vector<uint64_t> tables;
  Reader reader(section);
  while (tables.size() < kMaxTables) {
    const uint64_t begin = section.size() - reader.left();
    const auto length = reader.number<uint32_t>();
    reader.take(length);
    if (!reader.ok()) {
      break;
    }
    tables.push_back(begin);
  }
  return tables;
}

bool CubinLineTable::begins_sequence(std::span<const uint8_t> section, uint64_t table, uint64_t place) {
  const std::span<const uint8_t> before = section.first(std::min<uint64_t>(place, section.size()));
  if (!ends_with(before, kSetAddress)) {
    return false;
  }
  const uint64_t begin = before.size() - sizeof kSetAddress;
  uint32_t header_length = 0;
  if (begin < table + kProgramOrigin) {
    return false;
  }
  std::memcpy(&header_length, section.data() + table + kHeaderLengthAt, sizeof header_length);
  return begin == table + kProgramOrigin + header_length || ends_with(section.first(begin), kEndSequence);
}

std::optional<CubinLineTable> CubinLineTable::parse(std::span<const uint8_t> section, uint64_t offset) {
  Reader reader(section.subspan(std::min<uint64_t>(offset, section.size())));
  const auto length = reader.number<uint32_t>();
  Reader table(reader.take(length));
  const auto version = table.number<uint16_t>();
  const auto header_length = table.number<uint32_t>();
  Reader header(table.take(header_length));
  if (!reader.ok() || !table.ok() || version < 2 || version > 4) {
    return std::nullopt;
  }
  CubinLineTable result;
  result.bytes_ = section.first(section.size() - reader.left());
  result.minimum_length_ = header.number<uint8_t>();
  if (version == 4 && header.number<uint8_t>() != 1) {
    return std::nullopt;  // unsupported: more than one operation per instruction (VLIW)
  }
  header.number<uint8_t>();
  result.line_base_ = header.number<int8_t>();
  result.line_range_ = header.number<uint8_t>();
  result.opcode_base_ = header.number<uint8_t>();
  if (!header.ok() || result.line_range_ == 0 || result.opcode_base_ == 0) {
    return std::nullopt;
  }
  result.operand_counts_ = header.take(result.opcode_base_ - 1U);
  for (std::string_view folder = header.string(); !folder.empty(); folder = header.string()) {
    if (result.folders_.size() < kMaxFiles) {
      result.folders_.push_back(folder);
    }
  }
  for (std::string_view name = header.string(); !name.empty(); name = header.string()) {
    const uint64_t folder = header.uleb();
    header.uleb();  // modification time
    header.uleb();  // size
    if (result.files_.size() < kMaxFiles) {
      result.files_.push_back({name, folder});
    }
  }
  if (!header.ok()) {
    return std::nullopt;
  }
  if (header.left() == sizeof(uint32_t)) {
    result.names_begin_ = header.number<uint32_t>();
  }
  return result;
}

std::string CubinLineTable::file(uint32_t index) const {
  if (index == 0 || index > files_.size()) {
    return {};
  }
  const File& file = files_[index - 1];
  if (file.folder == 0 || file.folder > folders_.size() || file.name.starts_with('/')) {
    return std::string(file.name);
  }
  std::string path(folders_[file.folder - 1]);
  if (!path.ends_with('/')) {
    path += '/';
  }
  return path += file.name;
}

// Runs the line program of one sequence.
class CubinLineTable::Program {
 public:
  Program(const CubinLineTable& table, std::span<const uint8_t> bytes, uint64_t address)
      : table_(table), reader_(bytes), address_(address) {}

  std::optional<CubinSequence> run() {
    while (reader_.ok() && valid_ && !ended_) {
      step();
    }
    if (!ended_ || !valid_ || !reader_.ok()) {
      return std::nullopt;
    }
    return std::move(sequence_);
  }

 private:
  void step() {
    const auto opcode = reader_.number<uint8_t>();
    if (opcode >= table_.opcode_base_) {
      const unsigned adjusted = opcode - table_.opcode_base_;
      advance(adjusted / table_.line_range_);
      move_line(table_.line_base_ + static_cast<int64_t>(adjusted % table_.line_range_));
      add_row();
      return;
    }
    switch (opcode) {
      case 0:
        extended();
        break;
      case DW_LNS_copy:
        add_row();
        break;
      case DW_LNS_advance_pc:
        advance(reader_.uleb());
        break;
      case DW_LNS_advance_line:
        move_line(reader_.sleb());
        break;
      case DW_LNS_set_file:
        set(row_.file, reader_.uleb());
        break;
      case DW_LNS_const_add_pc:
        advance((255U - table_.opcode_base_) / table_.line_range_);
        break;
      case DW_LNS_fixed_advance_pc:
        move_to(address_ + reader_.number<uint16_t>());
        break;
      default:
        for (unsigned i = 0; i < table_.operand_counts_[opcode - 1U]; ++i) {
          reader_.uleb();
        }
    }
  }

  void extended() {
    Reader operands(reader_.take(reader_.uleb()));
    const auto opcode = operands.number<uint8_t>();
    switch (opcode) {
      case DW_LNE_end_sequence:
        sequence_.end = static_cast<uint32_t>(address_);
        ended_ = true;
        break;
      case kInlinedCall:
        set(row_.context, operands.uleb());
        set(row_.name, operands.uleb());
        break;
      case kFunctionName:
        set(row_.name, operands.uleb());
        break;
      // An address that is set inside a sequence makes it invalid. NVIDIA's tools are not known to write one.
      case DW_LNE_set_address:
      case DW_LNE_define_file:
        valid_ = false;
        break;
      default:
        break;
    }
    valid_ = valid_ && operands.ok();
  }

  void set(uint32_t& column, uint64_t value) {
    valid_ = valid_ && value <= std::numeric_limits<uint32_t>::max();
    column = static_cast<uint32_t>(value);
  }
  void advance(uint64_t instructions) {
    // Without this limit, the product below could overflow.
    valid_ = valid_ && instructions <= std::numeric_limits<uint32_t>::max();
    move_to(address_ + (valid_ ? instructions * table_.minimum_length_ : 0));
  }
  void move_to(uint64_t address) {
    valid_ = valid_ && address <= std::numeric_limits<uint32_t>::max();
    address_ = valid_ ? address : 0;
  }
  void move_line(int64_t by) {
    const int64_t limit = std::numeric_limits<uint32_t>::max();
    valid_ = valid_ && by >= -limit && by <= limit && by + row_.line >= 0 && by + row_.line <= limit;
    row_.line = valid_ ? static_cast<uint32_t>(row_.line + by) : 0;
  }
  void add_row() {
    valid_ = valid_ && sequence_.rows.size() < kMaxRows;
    if (valid_) {
      row_.address = static_cast<uint32_t>(address_);
      sequence_.rows.push_back(row_);
    }
  }

  const CubinLineTable& table_;
  Reader reader_;
  CubinSequence sequence_;
  CubinRow row_{0, 1, 1, 0, 0};
  uint64_t address_;
  bool valid_ = true;
  bool ended_ = false;
};

std::optional<CubinSequence> CubinLineTable::decode(uint64_t place, uint64_t stop, uint64_t address) const {
  const uint64_t end = std::min<uint64_t>(stop, bytes_.size());
  if (place > end || end - place < sizeof address || address > std::numeric_limits<uint32_t>::max()) {
    return std::nullopt;
  }
  const uint64_t begin = place + sizeof address;
  return Program(*this, bytes_.subspan(begin, end - begin), address).run();
}

}  // namespace gpuprof::symbolize
