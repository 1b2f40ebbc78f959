// Finds the unwind rule (wire/stack.h) of an address in .eh_frame or .debug_frame. Works on bytes of a file or of this
// process, and never reads outside them, whatever they contain. It also runs in signal handlers of targets: it does not
// allocate or throw, and needs only memcpy from libc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/stack.h"

namespace gpuprof::unwind {

// Bytes and their address in memory, which is needed to decode pointers that are relative to their own address.
struct Bytes {
  const uint8_t* data = nullptr;
  size_t size = 0;
  uint64_t address = 0;
};

// Returns the rule at `pc` in a loaded module. Returns GPUPROF_UNWIND_NONE if no rule is known, or if no rule can
// express it. `module`: the readable bytes, from the first to the last mapped one. `header`: address of the module's
// .eh_frame_hdr.
uint64_t rule_of(const Bytes& module, uint64_t header, uint64_t pc);

// Receives rules. Within a function, each call of on_rule() has a higher `pc` than the previous call. `rule` holds from
// `pc` to the `pc` of the next call. At the end of a function, `rule` is GPUPROF_UNWIND_NONE.
class RuleSink {
 public:
  virtual void on_rule(uint64_t pc, uint64_t rule) = 0;

 protected:
  ~RuleSink() = default;
};

enum class Section : uint8_t { eh_frame, debug_frame };

// Reads all rules of a section, function by function in the order of the section. Functions may have any address.
// Returns false if the section is damaged; rules before the damage are valid.
bool read_section(const Bytes& section, Section kind, RuleSink& sink);

}  // namespace gpuprof::unwind
