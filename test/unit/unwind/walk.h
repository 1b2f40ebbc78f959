// One step of a walk by a rule: a simple reference implementation for the stack engines.
#pragma once

#include <cstdint>

#include "wire/stack_arch.h"

namespace gpuprof::unwind {

struct Registers {
  uint64_t pc = 0;
  uint64_t sp = 0;
  uint64_t fp = 0;
  // True in the first frame and in a frame that a signal interrupted: pc is the next instruction to run. If false, pc
  // is a return address, and the rule is looked up at pc - 1, inside of the call.
  bool exact = true;
  uint64_t link = 0;  // the link register, on processors that have one; 0: unknown

  [[nodiscard]] uint64_t lookup_pc() const { return exact ? pc : pc - 1; }
};

enum class Step : uint8_t {
  caller,      // the registers are those of the caller, or of the code that a signal interrupted
  end,         // the frame has no caller
  no_rule,     // the walker may try the frame pointer
  unreadable,  // memory of a saved register is not readable
  stuck        // the caller's frame is not above this one, so the stack is damaged
};

// Changes `registers` to the caller's. `read(address, &value)` reads 8 bytes and returns whether that succeeded.
template <typename Read>
Step step(uint64_t rule, Registers& registers, Read&& read) {
  const Registers from = registers;
  const auto at_sp = static_cast<uint64_t>(GPUPROF_UNWIND_RULE_CFA_OFFSET(rule)) + from.sp;
  const auto at_fp = static_cast<uint64_t>(GPUPROF_UNWIND_RULE_CFA_OFFSET(rule)) + from.fp;
  uint64_t cfa = 0;
  bool whole = true;
  switch (GPUPROF_UNWIND_RULE_CFA(rule)) {
    case GPUPROF_UNWIND_SP:
      cfa = at_sp;
      break;
    case GPUPROF_UNWIND_FP:
      cfa = at_fp;
      break;
    case GPUPROF_UNWIND_DEREF_SP:
      whole = read(at_sp, &cfa);
      break;
    case GPUPROF_UNWIND_DEREF_FP:
      whole = read(at_fp, &cfa);
      break;
    case GPUPROF_UNWIND_PLT:
      cfa = GPUPROF_PLT_CFA(from.sp, from.pc);
      break;
    case GPUPROF_UNWIND_SIGNAL:
      registers.exact = true;
      whole = read(from.sp + GPUPROF_SIGNAL_LINK, &registers.link) &&
              read(from.sp + GPUPROF_SIGNAL_PC, &registers.pc) && read(from.sp + GPUPROF_SIGNAL_SP, &registers.sp) &&
              read(from.sp + GPUPROF_SIGNAL_FP, &registers.fp);
      return whole ? Step::caller : Step::unreadable;
    case GPUPROF_UNWIND_END:
      return Step::end;
    default:
      return Step::no_rule;
  }
  const auto fp_offset = static_cast<uint64_t>(GPUPROF_UNWIND_RULE_FP_OFFSET(rule));
  if (whole && GPUPROF_UNWIND_RULE_FP(rule) == GPUPROF_UNWIND_FP_AT_CFA) {
    whole = read(cfa + fp_offset, &registers.fp);
  } else if (whole && GPUPROF_UNWIND_RULE_FP(rule) == GPUPROF_UNWIND_FP_AT_FP) {
    whole = read(from.fp + fp_offset, &registers.fp);
  }
  const bool in_link = gpuprof_rule_in_link(rule) != 0;
  if (in_link) {
    registers.pc = from.link;
    whole = whole && from.link != 0;
  } else {
    whole = whole && read(gpuprof_return_slot(rule, cfa), &registers.pc);
  }
  if (!whole) {
    return Step::unreadable;
  }
  registers.pc = GPUPROF_CODE_ADDRESS(registers.pc);
  registers.sp = cfa;
  registers.link = 0;
  registers.exact = false;
  return cfa > from.sp || in_link ? Step::caller : Step::stuck;
}

}  // namespace gpuprof::unwind
