// How to get from a frame to its caller, whatever the processor. An architecture packs it into the 64 bits of
// wire/stack.h, or refuses what has no room there. Internal to src/unwind.
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
    not_needed,  // there is no caller (END), no rule, or all registers are elsewhere (SIGNAL)
    not_found,   // neither of the following
    at_cfa,      // in memory, at CFA + offset
    // Where the call has put it: in a leaf function, or before the prologue saves it. x86-64 has none. All processors
    // share the reader, and the GPU machines with aarch64 (GH200, GB200) come next: link_register_test.cpp reads
    // theirs.
    in_link_register
  };
  Kind kind = Kind::not_needed;
  int64_t offset = 0;

  bool operator==(const ReturnAddress&) const = default;
};

struct FrameRule {
  uint64_t rule = GPUPROF_UNWIND_NONE;  // of the CFA and the caller's fp
  ReturnAddress return_address;

  bool operator==(const FrameRule&) const = default;
};

}  // namespace gpuprof::unwind
