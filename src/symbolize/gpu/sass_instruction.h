// What an instruction of NVIDIA's GPUs (sm_70 and later) reads and writes, out of its text as nvdisasm prints it:
// "@P0 LDG.E.128 R4, desc[UR4][R2.64]". NVIDIA documents the names of the instructions (CUDA Binary Utilities) and not
// their operands: what is not known here is said to be unknown, never guessed.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuprof::symbolize {

// Where the result of an instruction comes from, which is what an instruction that needs it waits for.
enum class SassKind : uint8_t {
  unknown,
  load,  // from global memory, or from wherever its address leads
  local_load,
  texture_load,
  atomic,
  async_copy,  // from global to shared memory
  shared_load,
  shared_atomic,
  constant_load,
  special_function,  // and conversions, which the same unit does
  shuffle,
  special_register,
  tensor,
  arithmetic,  // of a fixed latency
  none,        // it has no result: stores, control flow
};

// "load", "shared load", "special function": what stands in "waits for the ... at file:line".
std::string_view sass_kind_word(SassKind kind);

// Registers of all files in one numbering. RZ, PT and their like are in none: they are constants.
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
// What asynchronous copies write, and a wait for all of them reads.
inline constexpr size_t kSassCopies = 528;

// Where control goes behind an instruction.
enum class SassFlow : uint8_t {
  next,
  branch,    // to its target, or also on where that is conditional
  barrier,   // BSSY: on; its target is where BSYNC of the same barrier goes on
  sync,      // BSYNC
  end,       // EXIT; or also on where that is conditional
  ret,       // RET: the same, to who called the function
  indirect,  // to a place in a register
  call,      // on, with any registers changed
};

struct SassInstruction {
  SassKind kind = SassKind::unknown;
  SassFlow flow = SassFlow::next;
  bool understood = false;    // false: of its operands nothing is in `reads` and `writes`
  bool guarded = false;       // by a predicate: what it writes may also stay as it was
  bool conditional = false;   // of its flow
  uint8_t barrier = 0;        // the number of BSSY's and BSYNC's
  SassRegisterSet reads;      // surely
  SassRegisterSet writes;     // surely, where it is executed
  SassRegisterSet may_write;  // of what it surely writes nothing is in here
};

// Never fails: what it does not know is not `understood`.
SassInstruction parse_sass(std::string_view text);

}  // namespace gpuprof::symbolize
