// Parses an instruction of NVIDIA GPUs (sm_70 and later) as nvdisasm prints it: "@P0 LDG.E.128 R4, desc[UR4][R2.64]".
// Finds the registers that it reads and writes. NVIDIA documents the names of the instructions (CUDA Binary Utilities)
// but not their operands. Reports what it does not know as unknown, and never guesses.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuprof::symbolize {

// What produces the result of an instruction. An instruction that needs the result waits for it.
enum class SassKind : uint8_t {
  unknown,
  load,  // from global memory, or by a generic address
  local_load,
  texture_load,
  atomic,
  async_copy,  // from global to shared memory
  shared_load,
  shared_atomic,
  constant_load,
  special_function,  // and conversions, which use the same unit
  shuffle,
  special_register,
  tensor,
  arithmetic,
  none,  // stores and control flow have no result
};

// Returns a word such as "load" or "special function", for the message "waits for the ... at file:line".
std::string_view sass_kind_word(SassKind kind);

// All register numbers are below this, over all register files. RZ and PT have no number, because they are constants.
inline constexpr size_t kSassRegisters = 529;
using SassRegisterSet = std::bitset<kSassRegisters>;
constexpr size_t sass_register(size_t number) {
  return number;  // R0 to R254
}
constexpr size_t sass_uniform(size_t number) {
  return 256 + number;  // UR0 to UR254
}
constexpr size_t sass_predicate(size_t number) {
  return 512 + number;  // P0 to P6
}
constexpr size_t sass_uniform_predicate(size_t number) {
  return 520 + number;  // UP0 to UP6
}
// A pseudo register that stands for asynchronous copies. Each copy writes it, and a wait for all copies reads it.
inline constexpr size_t kSassCopies = 528;

enum class SassFlow : uint8_t {
  next,
  branch,  // continues at its target; a conditional branch may also continue with the next instruction
  // BSSY continues with the next instruction. A BSYNC of the same barrier continues at the target of the BSSY.
  barrier,
  sync,      // BSYNC
  end,       // EXIT; if it is conditional, the next instruction may follow
  ret,       // RET to the caller; if it is conditional, the next instruction may follow
  indirect,  // jumps to an address in a register
  // Continues with the next instruction. Any register may have changed then.
  call,
};

struct SassInstruction {
  SassKind kind = SassKind::unknown;
  SassFlow flow = SassFlow::next;
  bool understood = false;  // if false, `reads` and `writes` lack the operands
  bool guarded = false;     // a predicate may skip the instruction, so its results may keep their old values
  bool conditional = false;
  uint8_t barrier = 0;        // barrier number, for BSSY and BSYNC
  SassRegisterSet reads;      // certainly read
  SassRegisterSet writes;     // certainly written, if executed
  SassRegisterSet may_write;  // possibly written; excludes `writes`
};

// Never fails: for an unknown instruction, `understood` is false.
SassInstruction parse_sass(std::string_view text);

}  // namespace gpuprof::symbolize
