// Describes how to get from a frame to its caller on any processor. Each architecture packs a FrameRule into the 64
// bits of wire/stack.h, or rejects it if it does not fit. Internal to src/unwind.
#pragma once

#include <cstdint>

#include "wire/stack.h"

namespace gpuprof::unwind {

struct CfaRule {
  gpuprof_unwind_kind kind = GPUPROF_UNWIND_NONE;
  int64_t offset = 0;
};

struct ReturnAddress {
  enum class Kind : uint8_t {
    not_needed,  // the frame has no caller or no rule, or is a signal frame, which holds all registers
    not_found,   // the return address is neither in memory nor in a link register
    at_cfa,      // the return address is in memory at CFA + offset
    // The return address is still in the link register: in a leaf function, or before the prologue saves it. This does
    // not occur on x86-64.
    in_link_register
  };
  Kind kind = Kind::not_needed;
  int64_t offset = 0;

  bool operator==(const ReturnAddress&) const = default;
};

struct FrameRule {
  uint64_t rule = GPUPROF_UNWIND_NONE;  // how to compute the CFA and the caller's frame pointer
  ReturnAddress return_address;

  bool operator==(const FrameRule&) const = default;
};

}  // namespace gpuprof::unwind
