// Defines what .eh_frame means on x86-64 beyond DWARF (System V ABI). Another architecture needs a similar file.
#pragma once

#include <elf.h>

#include <cstdint>

#include "unwind/frame_rule.h"
#include "unwind/row.h"
#include "wire/stack_arch.h"

namespace gpuprof::unwind {

struct X86_64 {
  static constexpr uint16_t kElfMachine = EM_X86_64;

  // DWARF register numbers.
  static constexpr uint64_t kFramePointer = 6;     // rbp
  static constexpr uint64_t kStackPointer = 7;     // rsp
  static constexpr uint64_t kReturnAddress = 16;   // DWARF's column for the return address, called "rip"
  static constexpr bool kHasLinkRegister = false;  // see ReturnAddress::in_link_register

  // A Rule assumes that the return address is where the call pushed it. pack() returns NONE for any other location.
  using Rule = uint64_t;
  static constexpr Rule pack(const FrameRule& frame) {
    constexpr ReturnAddress kPushed{ReturnAddress::Kind::at_cfa, GPUPROF_RETURN_ADDRESS_OFFSET};
    const bool found = frame.return_address.kind == ReturnAddress::Kind::not_needed || frame.return_address == kPushed;
    return found ? frame.rule : Rule{GPUPROF_UNWIND_NONE};
  }

  // Returns whether the CFA rule is that of a signal frame, as libc describes it for __restore_rt. In a signal frame,
  // the CFA is the stack pointer of the interrupted code, which the kernel saved.
  static constexpr bool is_signal_frame(const CfaRule& cfa) {
    return cfa.kind == GPUPROF_UNWIND_DEREF_SP && cfa.offset == GPUPROF_SIGNAL_SP;
  }

  // Returns the CFA rule at `pc` in a PLT that `expression` describes; NONE if it describes no PLT. `*until` becomes
  // the end of the range in which the rule holds. It is not set if the rule holds in the complete PLT.
  static CfaRule plt_rule(const Expression& expression, uint64_t pc, uint64_t* until) {
    const uint64_t threshold = plt_threshold(expression);
    if (threshold == 0) {
      return {};
    }
    if (threshold == GPUPROF_PLT_THRESHOLD) {
      return {GPUPROF_UNWIND_PLT, 0};
    }
    const uint64_t at = pc % kPltEntry;
    const uint64_t left = (at < threshold ? threshold : kPltEntry) - at;
    *until = pc > UINT64_MAX - left ? UINT64_MAX : pc + left;
    return {GPUPROF_UNWIND_SP, at < threshold ? 8 : 16};
  }

 private:
  static constexpr uint64_t kPltEntry = GPUPROF_PLT_ENTRY;

  // Linkers describe all entries of a PLT by one expression: CFA = rsp + 8 + ((rip & 15) >= threshold ? 8 : 0). At
  // offset `threshold` of an entry, the entry has pushed 8 bytes. Returns the threshold, which depends on the kind of
  // PLT. Returns 0 for any other expression.
  static uint64_t plt_threshold(const Expression& expression) {
    // DW_OP_breg7 8, breg16 0, lit15, and, lit<threshold>, ge, lit3, shl, plus
    constexpr uint8_t kForm[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x30, 0x2a, 0x33, 0x24, 0x22};
    constexpr uint64_t kThresholdAt = 6;
    constexpr unsigned kLiteral0 = 0x30;
    if (expression.size != sizeof kForm) {
      return 0;
    }
    for (uint64_t i = 0; i < sizeof kForm; ++i) {
      if (i != kThresholdAt && expression.data[i] != kForm[i]) {
        return 0;
      }
    }
    const unsigned op = expression.data[kThresholdAt];
    return op > kLiteral0 && op < kLiteral0 + kPltEntry ? op - kLiteral0 : 0;
  }
};

}  // namespace gpuprof::unwind
