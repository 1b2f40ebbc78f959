// Parses the entries of .eh_frame and .debug_frame: CIEs, and the FDEs of functions. Internal to src/unwind.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unwind/cfa_program.h"
#include "unwind/cfi.h"
#include "unwind/cursor.h"
#include "unwind/pointer.h"
#include "unwind/row.h"

namespace gpuprof::unwind {

// Limits the work per function. Compilers emit fewer initial instructions than this.
inline constexpr size_t kMaxInitialInstructions = 1024;

struct Entry {
  enum class Kind : uint8_t { terminator, cie, fde };
  Kind kind = Kind::terminator;
  Cursor body;              // what follows the entry's id
  uint64_t cie_offset = 0;  // only in an FDE: offset of its CIE
};

// Reads the entry at `*offset` and advances to the next one. Returns false if the entry is not complete.
inline bool read_entry(const Bytes& all, Section section, uint64_t* offset, Entry* entry) {
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
    // Cannot be mistaken for a valid CIE: an offset before the section wraps to a value above its size.
    entry->cie_offset = id_at - id;
  } else {
    const uint64_t id = wide ? body.number<uint64_t>() : body.number<uint32_t>();
    entry->kind = id == (wide ? UINT64_MAX : UINT32_MAX) ? Entry::Kind::cie : Entry::Kind::fde;
    entry->cie_offset = id;
  }
  entry->body = body;
  return body.ok();
}

inline bool read_augmentation_data(Cursor& in, Cursor names, Cie* cie) {
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
      case 'B':  // used on aarch64
      case 'G':
        break;
      default:
        return false;
    }
  }
  return in.ok() && data.ok();
}

// Returns false if the CIE is not supported. Its functions then have no rules.
template <typename Arch>
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
    return false;  // only addresses of 8 bytes without segment selectors are supported
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
  if (!in.ok() || return_address != Arch::kReturnAddress || in.left() > kMaxInitialInstructions) {
    return false;
  }
  CfaProgram<Arch> program(*cie, in, 0, 0);
  cie->usable = program.run_to_end();
  cie->initial = program.row();
  return cie->usable;
}

template <typename Arch>
bool load_cie(const Bytes& all, Section section, uint64_t offset, Cie* cie) {
  Entry entry;
  *cie = {};
  return read_entry(all, section, &offset, &entry) && entry.kind == Entry::Kind::cie &&
         parse_cie<Arch>(entry.body, section, cie);
}

struct Function {
  uint64_t begin = 0;
  uint64_t end = 0;
  Cursor instructions;
};

inline bool parse_fde(Cursor in, const Cie& cie, Function* function) {
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

}  // namespace gpuprof::unwind
