// Executes DWARF call frame instructions (DWARF 5, 6.4.2) for sp, fp and the return address. Internal to src/unwind.
#pragma once

#include <cstdint>

#include "unwind/cursor.h"
#include "unwind/pointer.h"
#include "unwind/row.h"

namespace gpuprof::unwind {

// Produces the rows of one function's unwind table, in ascending order of addresses.
template <typename Arch>
class CfaProgram {
 public:
  // The program runs for pc in [begin, end). `cie.initial` is the row to which DW_CFA_restore returns.
  CfaProgram(const Cie& cie, Cursor code, uint64_t begin, uint64_t end)
      : cie_(cie), code_(code), row_(cie.initial), upto_(begin), location_(begin), end_(end) {}

  // Returns false at the end of the function. Otherwise row() holds for [begin(), upto()), which is not empty.
  bool next() {
    begin_ = upto_;
    if (begin_ >= end_) {
      return false;
    }
    while (!failed_ && location_ == begin_ && !code_.at_end()) {
      instruction();
    }
    upto_ = failed_ || location_ == begin_ || location_ > end_ ? end_ : location_;
    return true;
  }

  // Runs all instructions of a CIE, which describe one row.
  bool run_to_end() {
    while (!failed_ && !code_.at_end()) {
      instruction();
    }
    return !failed_;
  }

  [[nodiscard]] bool failed() const { return failed_; }  // true: the program cannot be executed, so the row is unknown
  [[nodiscard]] const Row& row() const { return row_; }
  [[nodiscard]] uint64_t begin() const { return begin_; }
  [[nodiscard]] uint64_t upto() const { return upto_; }

 private:
  static constexpr unsigned kMaxRemembered = 6;  // maximum depth of nested DW_CFA_remember_state; compilers use 1

  void fail() { failed_ = true; }

  void advance(uint64_t units) {
    uint64_t bytes = 0;
    uint64_t to = 0;
    if (__builtin_mul_overflow(units, cie_.code_alignment, &bytes) || __builtin_add_overflow(location_, bytes, &to)) {
      fail();
      return;
    }
    location_ = to;
  }

  void set_location() {
    const Pointer to = read_pointer(code_, cie_.pointer_encoding, 0);
    if (!to.usable || to.value < location_) {
      fail();
      return;
    }
    location_ = to.value;
  }

  Expression block() {
    const Cursor part = code_.take(code_.uleb());
    return {part.data(), part.left()};
  }

  int64_t factored(uint64_t value) { return factored(static_cast<int64_t>(value)); }
  int64_t factored(int64_t value) {
    int64_t product = 0;
    if (__builtin_mul_overflow(value, cie_.data_alignment, &product)) {
      fail();
    }
    return product;
  }

  RegisterRule* place_of(uint64_t reg, Row& row) {
    return reg == Arch::kFramePointer ? &row.fp : reg == Arch::kReturnAddress ? &row.ra : nullptr;
  }
  void set_place(uint64_t reg, RegisterRule::Kind kind, int64_t offset = 0, Expression expression = {}) {
    if (RegisterRule* place = place_of(reg, row_); place != nullptr) {
      *place = {kind, offset, expression};
    } else if (reg == Arch::kStackPointer && kind != RegisterRule::Kind::undefined &&
               kind != RegisterRule::Kind::same) {
      // Rules assume that the caller's stack pointer is the CFA. Only signal frames may restore sp from memory instead.
      row_.cfa_known = row_.cfa_known && row_.cfa_by_expression && kind == RegisterRule::Kind::at_expression;
    }
  }
  void restore(uint64_t reg) {
    if (RegisterRule* place = place_of(reg, row_); place != nullptr) {
      Row initial = cie_.initial;
      *place = *place_of(reg, initial);
    }
  }

  void set_cfa(uint64_t reg, int64_t offset) {
    row_.cfa_known = true;
    row_.cfa_by_expression = false;
    row_.cfa_register = reg;
    row_.cfa_offset = offset;
  }
  void set_cfa_expression(Expression expression) {
    row_.cfa_known = true;
    row_.cfa_by_expression = true;
    row_.cfa_expression = expression;
  }
  // DW_CFA_def_cfa_register and DW_CFA_def_cfa_offset each change one part of a CFA "register + offset".
  void set_cfa_register(uint64_t reg) {
    row_.cfa_register = reg;
    row_.cfa_known = row_.cfa_known && !row_.cfa_by_expression;
  }
  void set_cfa_offset(int64_t offset) {
    row_.cfa_offset = offset;
    row_.cfa_known = row_.cfa_known && !row_.cfa_by_expression;
  }

  void remember() {
    if (remembered_ == kMaxRemembered) {
      fail();
      return;
    }
    stack_[remembered_++] = row_;
  }
  void recall() {
    if (remembered_ == 0) {
      fail();
      return;
    }
    row_ = stack_[--remembered_];
  }

  void instruction() {
    const auto op = code_.number<uint8_t>();
    const uint64_t low = op & 0x3fU;
    switch (op & 0xc0U) {
      case 0x40:  // DW_CFA_advance_loc
        advance(low);
        break;
      case 0x80:  // DW_CFA_offset
        set_place(low, RegisterRule::Kind::at_cfa, factored(code_.uleb()));
        break;
      case 0xc0:  // DW_CFA_restore
        restore(low);
        break;
      default:
        if (!location_instruction(op) && !cfa_instruction(op) && !register_instruction(op)) {
          fail();
        }
    }
    if (!code_.ok()) {
      fail();
    }
  }

  bool location_instruction(uint8_t op) {
    switch (op) {
      case 0x00:  // DW_CFA_nop
      // These say whether the return address is signed. Walks remove a signature from any return address.
      case 0x2c:  // DW_CFA_AARCH64_negate_ra_state_with_pc
      case 0x2d:  // DW_CFA_AARCH64_negate_ra_state; DW_CFA_GNU_window_save on other processors
        return true;
      case 0x01:  // DW_CFA_set_loc
        set_location();
        return true;
      case 0x02:  // DW_CFA_advance_loc1
        advance(code_.number<uint8_t>());
        return true;
      case 0x03:  // DW_CFA_advance_loc2
        advance(code_.number<uint16_t>());
        return true;
      case 0x04:  // DW_CFA_advance_loc4
        advance(code_.number<uint32_t>());
        return true;
      case 0x1d:  // DW_CFA_MIPS_advance_loc8
        advance(code_.number<uint64_t>());
        return true;
      case 0x2e:  // DW_CFA_GNU_args_size, only for landing pads
        code_.uleb();
        return true;
      default:
        return false;
    }
  }

  bool cfa_instruction(uint8_t op) {
    switch (op) {
      case 0x0a:  // DW_CFA_remember_state
        remember();
        return true;
      case 0x0b:  // DW_CFA_restore_state
        recall();
        return true;
      case 0x0c: {  // DW_CFA_def_cfa
        const uint64_t reg = code_.uleb();
        set_cfa(reg, static_cast<int64_t>(code_.uleb()));
        return true;
      }
      case 0x0d:  // DW_CFA_def_cfa_register
        set_cfa_register(code_.uleb());
        return true;
      case 0x0e:  // DW_CFA_def_cfa_offset
        set_cfa_offset(static_cast<int64_t>(code_.uleb()));
        return true;
      case 0x0f:  // DW_CFA_def_cfa_expression
        set_cfa_expression(block());
        return true;
      case 0x12: {  // DW_CFA_def_cfa_sf
        const uint64_t reg = code_.uleb();
        set_cfa(reg, factored(code_.sleb()));
        return true;
      }
      case 0x13:  // DW_CFA_def_cfa_offset_sf
        set_cfa_offset(factored(code_.sleb()));
        return true;
      default:
        return false;
    }
  }

  bool register_instruction(uint8_t op) {
    const bool is_register_instruction =
        (op >= 0x05 && op <= 0x09) || op == 0x10 || op == 0x11 || (op >= 0x14 && op <= 0x16) || op == 0x2f;
    if (!is_register_instruction) {
      return false;
    }
    const uint64_t reg = code_.uleb();
    switch (op) {
      case 0x05:  // DW_CFA_offset_extended
        set_place(reg, RegisterRule::Kind::at_cfa, factored(code_.uleb()));
        break;
      case 0x06:  // DW_CFA_restore_extended
        restore(reg);
        break;
      case 0x07:  // DW_CFA_undefined
        set_place(reg, RegisterRule::Kind::undefined);
        break;
      case 0x08:  // DW_CFA_same_value
        set_place(reg, RegisterRule::Kind::same);
        break;
      case 0x10:  // DW_CFA_expression
        set_place(reg, RegisterRule::Kind::at_expression, 0, block());
        break;
      case 0x11:  // DW_CFA_offset_extended_sf
        set_place(reg, RegisterRule::Kind::at_cfa, factored(code_.sleb()));
        break;
      case 0x2f:  // DW_CFA_GNU_negative_offset_extended
        set_place(reg, RegisterRule::Kind::at_cfa, factored(static_cast<int64_t>(0 - code_.uleb())));
        break;
      case 0x16:  // DW_CFA_val_expression
        set_place(reg, RegisterRule::Kind::other, 0, block());
        break;
      case 0x15:  // DW_CFA_val_offset_sf
        code_.sleb();
        set_place(reg, RegisterRule::Kind::other);
        break;
      default:  // DW_CFA_register, DW_CFA_val_offset: one unsigned operand
        code_.uleb();
        set_place(reg, RegisterRule::Kind::other);
    }
    return true;
  }

  const Cie& cie_;
  Cursor code_;
  Row row_;
  uint64_t begin_ = 0;
  uint64_t upto_;
  uint64_t location_;
  uint64_t end_;
  bool failed_ = false;
  unsigned remembered_ = 0;
  Row stack_[kMaxRemembered];
};

}  // namespace gpuprof::unwind
