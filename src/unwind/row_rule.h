// Converts a row of call frame information into a rule. Internal to src/unwind.
#pragma once

#include <cstdint>

#include "unwind/frame_rule.h"
#include "unwind/row.h"

namespace gpuprof::unwind {

// An expression of the form reg + offset or *(reg + offset).
struct SimpleExpression {
  bool ok = false;
  bool deref = false;
  uint64_t reg = 0;
  int64_t offset = 0;
};

inline SimpleExpression simple_expression(const Expression& expression) {
  SimpleExpression found;
  Cursor in = expression.cursor();
  const auto op = in.number<uint8_t>();
  if (op >= 0x70 && op <= 0x8f) {  // DW_OP_breg0 ... 31
    found.reg = op - 0x70U;
  } else if (op == 0x92) {  // DW_OP_bregx
    found.reg = in.uleb();
  } else {
    return found;
  }
  found.offset = in.sleb();
  while (in.ok() && !in.at_end()) {
    const auto next = in.number<uint8_t>();
    if (next == 0x06 && !found.deref) {  // DW_OP_deref
      found.deref = true;
    } else if (next == 0x23 && !found.deref) {  // DW_OP_plus_uconst
      if (__builtin_add_overflow(found.offset, static_cast<int64_t>(in.uleb()), &found.offset)) {
        return found;
      }
    } else {
      return found;
    }
  }
  found.ok = in.ok();
  return found;
}

inline bool fits_rule(int64_t offset) {
  constexpr int64_t kLimit = int64_t{1} << 28;
  return offset >= -kLimit && offset < kLimit;
}

// Computes how to restore the caller's frame pointer. Returns false if no rule can express that. If `cfa_is_sp`, the
// CFA is the stack pointer plus `cfa_offset`.
template <typename Arch>
bool fp_rule(const RegisterRule& place, bool cfa_is_sp, int64_t cfa_offset, gpuprof_unwind_fp* fp, int64_t* offset) {
  *fp = GPUPROF_UNWIND_FP_SAME;
  *offset = 0;
  switch (place.kind) {
    case RegisterRule::Kind::unspecified:
    case RegisterRule::Kind::undefined:  // undefined means that the caller does not need its frame pointer
    case RegisterRule::Kind::same:
      return true;
    case RegisterRule::Kind::at_cfa:
      *fp = GPUPROF_UNWIND_FP_AT_CFA;
      *offset = place.offset;
      return fits_rule(place.offset);
    case RegisterRule::Kind::at_expression:
      break;
    case RegisterRule::Kind::other:
      return false;
  }
  const SimpleExpression simple = simple_expression(place.expression);
  if (!simple.ok || simple.deref || !fits_rule(simple.offset)) {
    return false;
  }
  if (simple.reg == Arch::kFramePointer) {
    *fp = GPUPROF_UNWIND_FP_AT_FP;
    *offset = simple.offset;
    return true;
  }
  *fp = GPUPROF_UNWIND_FP_AT_CFA;
  *offset = simple.offset - cfa_offset;
  return simple.reg == Arch::kStackPointer && cfa_is_sp && fits_rule(*offset);
}

template <typename Arch>
CfaRule cfa_rule(const Row& row) {
  bool deref = false;
  uint64_t reg = row.cfa_register;
  CfaRule rule{.offset = row.cfa_offset};
  if (row.cfa_by_expression) {
    const SimpleExpression simple = simple_expression(row.cfa_expression);
    if (!simple.ok) {
      return {};
    }
    deref = simple.deref;
    reg = simple.reg;
    rule.offset = simple.offset;
  }
  if (!row.cfa_known || !fits_rule(rule.offset)) {
    return {};
  }
  if (reg == Arch::kStackPointer) {
    rule.kind = deref ? GPUPROF_UNWIND_DEREF_SP : GPUPROF_UNWIND_SP;
  } else if (reg == Arch::kFramePointer) {
    rule.kind = deref ? GPUPROF_UNWIND_DEREF_FP : GPUPROF_UNWIND_FP;
  }
  return rule;
}

// Returns not_found if the return address is neither at a fixed offset from the CFA nor in a link register.
template <typename Arch>
ReturnAddress return_address(const RegisterRule& place) {
  switch (place.kind) {
    case RegisterRule::Kind::at_cfa:
      return {ReturnAddress::Kind::at_cfa, place.offset};
    case RegisterRule::Kind::unspecified:
    case RegisterRule::Kind::same:
      return {Arch::kHasLinkRegister ? ReturnAddress::Kind::in_link_register : ReturnAddress::Kind::not_found};
    default:
      return {ReturnAddress::Kind::not_found};
  }
}

// Returns the rule of `row` at `pc`. `*until` becomes the end of the range in which the rule holds; UINT64_MAX means
// the end of the row.
template <typename Arch>
FrameRule rule_of_row(const Cie& cie, const Row& row, uint64_t pc, uint64_t* until) {
  *until = UINT64_MAX;
  if (row.ra.kind == RegisterRule::Kind::undefined) {
    return {GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_END, 0, 0, 0), {}};
  }
  CfaRule cfa = cfa_rule<Arch>(row);
  // A function may be marked as a signal frame and have another CFA rule. It is unwound like an ordinary function.
  if (cie.is_signal_frame && Arch::is_signal_frame(cfa)) {
    return {GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SIGNAL, 0, 0, 0), {}};
  }
  const ReturnAddress from = return_address<Arch>(row.ra);
  if (from.kind == ReturnAddress::Kind::not_found) {
    return {};
  }
  if (cfa.kind == GPUPROF_UNWIND_NONE && row.cfa_by_expression && row.cfa_known) {
    cfa = Arch::plt_rule(row.cfa_expression, pc, until);
  }
  gpuprof_unwind_fp fp{};
  int64_t fp_offset = 0;
  if (cfa.kind == GPUPROF_UNWIND_NONE ||
      !fp_rule<Arch>(row.fp, cfa.kind == GPUPROF_UNWIND_SP, cfa.offset, &fp, &fp_offset)) {
    return {};
  }
  return {GPUPROF_UNWIND_RULE(cfa.kind, fp, cfa.offset, fp_offset), from};
}

}  // namespace gpuprof::unwind
