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
  load,  // from global memory, or from a generic address
  local_load,
  texture_load,
  atomic,
  async_copy,  // from global to shared memory
  shared_load,
  shared_atomic,
  constant_load,
  special_function,  // also conversions, which use the same unit
  shuffle,
  special_register,
  tensor,
  arithmetic,  // with fixed latency
  none,        // no result: stores, control flow
};

// Returns "load", "shared load", "special function": the words for "waits for the ... at file:line".
std::string_view sass_kind_word(SassKind kind);

// The registers of all register files have numbers below this. RZ, PT and the like have no number: they are constants.
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
// A pseudo register for asynchronous copies: each copy writes it, and a wait for all copies reads it.
inline constexpr size_t kSassCopies = 528;

// Where control flow continues after an instruction.
enum class SassFlow : uint8_t {
  next,
  branch,    // to its target; a conditional branch may also continue with the next instruction
  barrier,   // BSSY: next instruction; a BSYNC of the same barrier continues at BSSY's target
  sync,      // BSYNC
  end,       // EXIT; a conditional one may continue with the next instruction
  ret,       // RET to the caller; a conditional one may continue with the next instruction
  indirect,  // to an address in a register
  call,      // to the next instruction, where any register may have changed
};

struct SassInstruction {
  SassKind kind = SassKind::unknown;
  SassFlow flow = SassFlow::next;
  bool understood = false;    // false: `reads` and `writes` do not include its operands
  bool guarded = false;       // a predicate may skip it, so its results may keep their old values
  bool conditional = false;   // its control flow is conditional
  uint8_t barrier = 0;        // barrier number of BSSY and BSYNC
  SassRegisterSet reads;      // certainly read
  SassRegisterSet writes;     // certainly written, if executed
  SassRegisterSet may_write;  // possibly written; excludes `writes`
};

// Never fails: an unknown instruction has `understood` false.
SassInstruction parse_sass(std::string_view text);

}  // namespace gpuprof::symbolize
