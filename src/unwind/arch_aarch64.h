// Defines what .eh_frame means on aarch64 beyond DWARF (AAPCS64, "DWARF for the Arm 64-bit Architecture").
#pragma once

#include <elf.h>

#include <cstdint>

#include "unwind/frame_rule.h"
#include "unwind/row.h"
#include "unwind/row_rule.h"
#include "wire/stack_arch.h"

namespace gpuprof::unwind {

struct Aarch64 {
  static constexpr uint16_t kElfMachine = EM_AARCH64;

  // DWARF register numbers.
  static constexpr uint64_t kFramePointer = 29;   // x29
  static constexpr uint64_t kStackPointer = 31;   // sp
  static constexpr uint64_t kReturnAddress = 30;  // x30, the link register
  static constexpr bool kHasLinkRegister = true;

  // A Rule can state one offset for x29 and x30 together, because functions save them as a pair. pack() returns NONE if
  // they were saved apart.
  using Rule = uint64_t;
  static constexpr Rule pack(const FrameRule& frame) {
    const uint64_t rule = frame.rule;
    const uint64_t fp = GPUPROF_UNWIND_RULE_FP(rule);
    const int64_t offset = frame.return_address.offset;
    switch (frame.return_address.kind) {
      case ReturnAddress::Kind::not_needed:
        return rule;
      case ReturnAddress::Kind::in_link_register:
        return GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_NONE ? rule : rule | GPUPROF_UNWIND_IN_LINK;
      case ReturnAddress::Kind::at_cfa:
        if (fp == GPUPROF_UNWIND_FP_SAME && fits_rule(offset)) {
          return GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_RULE_KIND(rule), GPUPROF_UNWIND_FP_NOT_SAVED,
                                     GPUPROF_UNWIND_RULE_CFA_OFFSET(rule), offset);
        }
        if (fp == GPUPROF_UNWIND_FP_AT_CFA && offset == GPUPROF_UNWIND_RULE_FP_OFFSET(rule) + kWord) {
          return rule;
        }
        return GPUPROF_UNWIND_NONE;
      default:
        return GPUPROF_UNWIND_NONE;
    }
  }

  // Returns whether the CFA rule is that of the vdso's __kernel_rt_sigreturn up to Linux 5.7. Later versions have no
  // call frame information; walks recognize the code.
  static constexpr bool is_signal_frame(const CfaRule& cfa) { return cfa.kind == GPUPROF_UNWIND_FP && cfa.offset == 0; }

  // Linkers do not describe PLTs.
  static CfaRule plt_rule(const Expression& /*expression*/, uint64_t /*pc*/, uint64_t* /*until*/) { return {}; }

 private:
  static constexpr int64_t kWord = 8;
};

}  // namespace gpuprof::unwind
