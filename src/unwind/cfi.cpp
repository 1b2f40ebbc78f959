#include "unwind/cfi.h"

#include "unwind/arch.h"
#include "unwind/cfa_program.h"
#include "unwind/cursor.h"
#include "unwind/entries.h"
#include "unwind/pointer.h"
#include "unwind/row_rule.h"
#include "unwind/section_walk.h"

namespace gpuprof::unwind {
namespace {

constexpr uint64_t kNone = GPUPROF_UNWIND_NONE;

// Finds the rule at `pc` in the function of `entry`. Returns false if that function does not contain `pc`.
bool rule_of_entry(const Bytes& module, const Entry& entry, uint64_t pc, uint64_t* rule) {
  Cie cie;
  Function function;
  if (!load_cie<NativeArch>(module, Section::eh_frame, entry.cie_offset, &cie) ||
      !parse_fde(entry.body, cie, &function) || pc < function.begin || pc >= function.end) {
    return false;
  }
  *rule = kNone;
  CfaProgram<NativeArch> program(cie, function.instructions, function.begin, function.end);
  while (program.next()) {
    if (pc < program.upto()) {
      uint64_t until = 0;
      *rule = program.failed() ? kNone : NativeArch::pack(rule_of_row<NativeArch>(cie, program.row(), pc, &until));
      break;
    }
  }
  return true;
}

// The table of .eh_frame_hdr. Its entries are pairs (function, FDE) of offsets from the header, sorted by function.
class HeaderTable {
 public:
  HeaderTable(Cursor in, uint64_t header, uint64_t count) : data_(in.data()), header_(header) {
    count_ = count < in.left() / kPair ? count : in.left() / kPair;
  }

  // Returns the address of the FDE of the last function that begins at or before `pc`; 0 if no function does.
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

// Searches all entries from `frames` to the terminator, if the header has no table.
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
  const auto emit = [&sink](uint64_t pc, uint64_t rule) { sink.on_rule(pc, rule); };
  return SectionWalk<NativeArch, decltype(emit)>(section, kind, emit).run();
}

}  // namespace gpuprof::unwind
