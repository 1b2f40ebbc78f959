// What .eh_frame and .debug_frame say of an address: rules of wire/stack.h. Works on bytes in memory, be they a
// section of a file or this process's own; allocates nothing, throws nothing, needs no libc beyond memcpy, so that it
// also runs inside of targets, in signal handlers. Whatever the bytes hold, nothing outside of them is read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/stack.h"

namespace gpuprof::unwind {

// Bytes, and the address at which the first of them is (or would be) mapped: encoded pointers are relative to it.
struct Bytes {
  const uint8_t* data = nullptr;
  size_t size = 0;
  uint64_t address = 0;
};

// The rule at `pc`, which lies in a loaded module. `module`: all that may be read, from its first to its last mapped
// byte. `header`: address of its .eh_frame_hdr, whose table is searched. GPUPROF_UNWIND_NONE where there is no rule, or
// none that can be expressed.
uint64_t rule_of(const Bytes& module, uint64_t header, uint64_t pc);

// Receives rules in the order of the addresses: `rule` holds from `pc` up to the next call, or up to the end of the
// function, which comes as a call with GPUPROF_UNWIND_NONE.
class RuleSink {
 public:
  virtual void on_rule(uint64_t pc, uint64_t rule) = 0;

 protected:
  ~RuleSink() = default;
};

enum class Section : uint8_t { eh_frame, debug_frame };

// All rules of a section, function by function as they lie in it (functions may be in any order).
// False: the section is damaged; what came before that is right.
bool read_section(const Bytes& section, Section kind, RuleSink& sink);

}  // namespace gpuprof::unwind
