// What a stalled instruction waits for: the instructions of its function whose results it reads, found backward over
// all paths. Registers only: what comes by way of memory or from a caller is not seen, and said to be.
//
// To say "waits for the load at kernels.cu:12" of a stalled place:
//   const SassSlice slice(disassembler.run(cubin, function, owner));   // once a function
//   const SassWaits found = slice.waits_for(place.offset, "long_scoreboard");
//   if (!found.producers.empty())  // the nearest one first
//     "waits for the " + sass_kind_word(found.producers[0].kind) + " at " + line of found.producers[0].offset
// Where `complete` is false, or there are several producers, it is one that it can be, not the only one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolize/gpu/disassembler.h"
#include "symbolize/gpu/sass_instruction.h"

namespace gpuprof::symbolize {

struct SassProducer {
  uint64_t offset = 0;  // from where the function begins, as GpuInstruction's
  SassKind kind = SassKind::unknown;
};

struct SassWaits {
  std::vector<SassProducer> producers;  // by the number of instructions between, at most kMostProducers
  // All paths were followed to an end: nothing that is not known (another function, an instruction that we do not
  // know, a jump to a register, a limit) can have written what is waited for.
  bool complete = true;
};

class SassSlice {
 public:
  static constexpr size_t kMostInstructions = size_t{1} << 18U;  // of longer functions nothing is said
  static constexpr size_t kMostSteps = size_t{1} << 16U;         // backward
  static constexpr size_t kMostProducers = 8;

  // All instructions of a function, by offset.
  explicit SassSlice(std::span<const GpuInstruction> instructions);

  // Only instructions that are waited for with that reason, in the words of analyze/stalls/stall_reasons.h (with
  // "_not_issued" or without): long_scoreboard: memory and textures; short_scoreboard: shared memory, special functions
  // and the like; wait: arithmetic just before it. For other reasons, which are about no result, there are none.
  [[nodiscard]] SassWaits waits_for(uint64_t offset, std::string_view reason) const;

 private:
  struct Node {
    uint64_t offset = 0;
    uint32_t first_source = 0;  // in sources_, up to that of the next
    bool open = false;          // it may be reached from somewhere that is not known
    SassInstruction instruction;
  };
  using Edges = std::vector<std::pair<uint32_t, uint32_t>>;  // (to, from)

  [[nodiscard]] size_t find(uint64_t offset) const;
  void add_edges(std::span<const GpuInstruction> instructions, Edges& edges);
  void mark_open(const Edges& edges);

  std::vector<Node> nodes_;
  std::vector<uint32_t> sources_;  // from where control comes
  bool jumps_ = false;             // to where a register says
  bool returns_ = false;           // it is called
};

}  // namespace gpuprof::symbolize
