#include "unwind/cfi.h"

#include "unwind/cfa_program.h"
#include "unwind/cursor.h"
#include "unwind/pointer.h"
#include "unwind/row_rule.h"

namespace gpuprof::unwind {
namespace {

constexpr uint64_t kNone = GPUPROF_UNWIND_NONE;

// Longer ones are not met, and would be executed again for each function.
constexpr size_t kMaxInitialInstructions = 1024;
// PLT entries whose rules differ within an entry get rows of their own; so many in one section.
constexpr uint64_t kMaxPltRows = 1 << 20;

// A CIE or FDE in a section (or module) `all`.
struct Entry {
  enum class Kind : uint8_t { terminator, cie, fde };
  Kind kind = Kind::terminator;
  Cursor body;              // after the id
  uint64_t cie_offset = 0;  // of an FDE
};

// False where there is no whole entry. `*offset` moves on to the next one.
bool read_entry(const Bytes& all, Section section, uint64_t* offset, Entry* entry) {
  if (*offset >= all.size) {
    return false;
  }
  Cursor in(all.data + *offset, all.data + all.size, all.address + *offset);
  uint64_t length = in.number<uint32_t>();
  const bool wide = length == UINT32_MAX;
  if (wide) {
    length = in.number<uint64_t>();
  }
  Cursor body = in.take(length);
  if (!in.ok() || !body.ok()) {
    return false;
  }
  *offset = static_cast<uint64_t>(in.data() - all.data);
  entry->kind = Entry::Kind::terminator;
  if (length == 0) {
    return true;
  }
  const auto id_at = static_cast<uint64_t>(body.data() - all.data);
  if (section == Section::eh_frame) {
    const auto id = body.number<uint32_t>();
    entry->kind = id == 0 ? Entry::Kind::cie : Entry::Kind::fde;
    entry->cie_offset = id_at - id;  // one before the section is larger than its size
  } else {
    const uint64_t id = wide ? body.number<uint64_t>() : body.number<uint32_t>();
    entry->kind = id == (wide ? UINT64_MAX : UINT32_MAX) ? Entry::Kind::cie : Entry::Kind::fde;
    entry->cie_offset = id;
  }
  entry->body = body;
  return body.ok();
}

// The augmentation string and its data; `in` is moved to the instructions.
bool read_augmentation_data(Cursor& in, Cursor names, Cie* cie) {
  Cursor data = in.take(in.uleb());
  while (!names.at_end()) {
    switch (names.number<uint8_t>()) {
      case 'R':
        cie->pointer_encoding = data.number<uint8_t>();
        break;
      case 'P':
        read_pointer(data, data.number<uint8_t>(), 0);
        break;
      case 'L':
        data.number<uint8_t>();
        break;
      case 'S':
        cie->is_signal_frame = true;
        break;
      case 'B':  // of aarch64
      case 'G':
        break;
      default:
        return false;
    }
  }
  return in.ok() && data.ok();
}

// False where it cannot be understood, and so none of its functions.
bool parse_cie(Cursor in, Section section, Cie* cie) {
  *cie = {};
  const auto version = in.number<uint8_t>();
  if (version != 1 && version != 3 && (version != 4 || section != Section::debug_frame)) {
    return false;
  }
  const uint8_t* name = in.data();
  size_t length = 0;
  while (in.number<uint8_t>() != 0) {
    ++length;
  }
  Cursor names(name, name + length, 0);
  if (version == 4 && (in.number<uint8_t>() != sizeof(uint64_t) || in.number<uint8_t>() != 0)) {
    return false;  // size of addresses, of segment selectors
  }
  if (length == 2 && name[0] == 'e' && name[1] == 'h') {
    in.skip(sizeof(uint64_t));
    names.skip(2);
  }
  cie->code_alignment = in.uleb();
  cie->data_alignment = in.sleb();
  const uint64_t return_address = version == 1 ? in.number<uint8_t>() : in.uleb();
  if (!names.at_end()) {
    cie->has_augmentation_data = names.number<uint8_t>() == 'z';
    if (!cie->has_augmentation_data || !read_augmentation_data(in, names, cie)) {
      return false;
    }
  }
  if (!in.ok() || return_address != arch::kReturnAddress || in.left() > kMaxInitialInstructions) {
    return false;
  }
  CfaProgram program(*cie, in, 0, 0);
  cie->usable = program.run_to_end();
  cie->initial = program.row();
  return cie->usable;
}

bool load_cie(const Bytes& all, Section section, uint64_t offset, Cie* cie) {
  Entry entry;
  *cie = {};
  return read_entry(all, section, &offset, &entry) && entry.kind == Entry::Kind::cie &&
         parse_cie(entry.body, section, cie);
}

// [begin, end) and instructions of a function.
struct Function {
  uint64_t begin = 0;
  uint64_t end = 0;
  Cursor instructions;
};

bool parse_fde(Cursor in, const Cie& cie, Function* function) {
  const Pointer begin = read_pointer(in, cie.pointer_encoding, 0);
  const Pointer size = read_pointer(in, cie.pointer_encoding & kFormat, 0);
  if (cie.has_augmentation_data) {
    in.skip(in.uleb());
  }
  function->begin = begin.value;
  function->instructions = in;
  return in.ok() && begin.usable && size.usable && !__builtin_add_overflow(begin.value, size.value, &function->end) &&
         size.value != 0;
}

class SectionWalk {
 public:
  SectionWalk(const Bytes& all, Section section, RuleSink& sink) : all_(all), section_(section), sink_(sink) {}

  bool run() {
    uint64_t offset = 0;
    Entry entry;
    while (offset < all_.size) {
      if (!read_entry(all_, section_, &offset, &entry)) {
        return false;
      }
      if (entry.kind == Entry::Kind::fde) {
        read_function(entry);
      }
    }
    return true;
  }

 private:
  void read_function(const Entry& entry) {
    if (entry.cie_offset != cie_offset_) {
      cie_offset_ = entry.cie_offset;
      load_cie(all_, section_, entry.cie_offset, &cie_);
    }
    Function function;
    if (!cie_.usable || !parse_fde(entry.body, cie_, &function)) {
      return;
    }
    CfaProgram program(cie_, function.instructions, function.begin, function.end);
    has_last_ = false;
    while (program.next()) {
      emit_row(program);
    }
    sink_.on_rule(function.end, kNone);
  }

  void emit_row(const CfaProgram& program) {
    uint64_t pc = program.begin();
    while (pc < program.upto()) {
      uint64_t until = UINT64_MAX;
      uint64_t rule = program.failed() ? kNone : rule_of_row(cie_, program.row(), pc, &until);
      if (until < program.upto() && ++plt_rows_ > kMaxPltRows) {
        rule = kNone;
        until = UINT64_MAX;
      }
      if (!has_last_ || rule != last_) {
        sink_.on_rule(pc, rule);
        has_last_ = true;
        last_ = rule;
      }
      pc = until;
    }
  }

  const Bytes& all_;
  Section section_;
  RuleSink& sink_;
  uint64_t cie_offset_ = UINT64_MAX;
  Cie cie_;
  uint64_t plt_rows_ = 0;
  bool has_last_ = false;
  uint64_t last_ = 0;
};

// The rule at `pc` from the FDE at `offset`. False where that function does not hold `pc`.
bool rule_of_entry(const Bytes& module, const Entry& entry, uint64_t pc, uint64_t* rule) {
  Cie cie;
  Function function;
  if (!load_cie(module, Section::eh_frame, entry.cie_offset, &cie) || !parse_fde(entry.body, cie, &function) ||
      pc < function.begin || pc >= function.end) {
    return false;
  }
  *rule = kNone;
  CfaProgram program(cie, function.instructions, function.begin, function.end);
  while (program.next()) {
    if (pc < program.upto()) {
      uint64_t until = 0;
      *rule = program.failed() ? kNone : rule_of_row(cie, program.row(), pc, &until);
      break;
    }
  }
  return true;
}

// The table of .eh_frame_hdr: pairs of function and FDE, both relative to the header, sorted by function.
class HeaderTable {
 public:
  HeaderTable(Cursor in, uint64_t header, uint64_t count) : data_(in.data()), header_(header) {
    count_ = count < in.left() / kPair ? count : in.left() / kPair;
  }

  // The address of the FDE of the last function that begins at or before `pc`; 0: none.
  [[nodiscard]] uint64_t find(uint64_t pc) const {
    uint64_t low = 0;
    uint64_t high = count_;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (value(middle, 0) <= pc) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low == 0 ? 0 : value(low - 1, 1);
  }

 private:
  static constexpr uint64_t kPair = 2 * sizeof(int32_t);

  [[nodiscard]] uint64_t value(uint64_t pair, uint64_t which) const {
    int32_t offset = 0;
    std::memcpy(&offset, data_ + pair * kPair + which * sizeof offset, sizeof offset);
    return header_ + static_cast<uint64_t>(int64_t{offset});
  }

  const uint8_t* data_;
  uint64_t header_;
  uint64_t count_ = 0;
};

// Without a table: all entries from `frames` on, up to the terminator.
uint64_t scan(const Bytes& module, uint64_t frames, uint64_t pc) {
  uint64_t offset = frames - module.address;
  Entry entry;
  while (read_entry(module, Section::eh_frame, &offset, &entry) && entry.kind != Entry::Kind::terminator) {
    uint64_t rule = 0;
    if (entry.kind == Entry::Kind::fde && rule_of_entry(module, entry, pc, &rule)) {
      return rule;
    }
  }
  return kNone;
}

}  // namespace

uint64_t rule_of(const Bytes& module, uint64_t header, uint64_t pc) {
  constexpr uint8_t kSortedTable = kDataRelative | 0x0b;
  if (header < module.address || header - module.address >= module.size) {
    return kNone;
  }
  Cursor in(module.data + (header - module.address), module.data + module.size, header);
  const auto version = in.number<uint8_t>();
  const auto frames_encoding = in.number<uint8_t>();
  const auto count_encoding = in.number<uint8_t>();
  const auto table_encoding = in.number<uint8_t>();
  const Pointer frames = read_pointer(in, frames_encoding, header);
  const Pointer count = read_pointer(in, count_encoding, header);
  if (!in.ok() || version != 1) {
    return kNone;
  }
  if (table_encoding == kSortedTable && count.usable) {
    uint64_t offset = HeaderTable(in, header, count.value).find(pc) - module.address;
    uint64_t rule = 0;
    Entry entry;
    const bool found = read_entry(module, Section::eh_frame, &offset, &entry) && entry.kind == Entry::Kind::fde &&
                       rule_of_entry(module, entry, pc, &rule);
    return found ? rule : kNone;
  }
  return frames.usable ? scan(module, frames.value, pc) : kNone;
}

bool read_section(const Bytes& section, Section kind, RuleSink& sink) {
  return SectionWalk(section, kind, sink).run();
}

}  // namespace gpuprof::unwind
