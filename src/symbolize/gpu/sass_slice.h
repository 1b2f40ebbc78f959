// Finds what a stalled instruction waits for: the instructions of its function that produce the registers it reads.
// Searches backward over all paths. Values from memory or from a caller make the result incomplete.
//
// Example for "waits for the load at kernels.cu:12":
//  const SassSlice slice(disassembler.run(cubin, function, owner));   // once per function
//   const SassWaits found = slice.waits_for(place.offset, "long_scoreboard");
//   if (!found.producers.empty())  // the nearest one first
//     "waits for the " + sass_kind_word(found.producers[0].kind) + " at " + line of found.producers[0].offset
// If `complete` is false, or there are several producers, the first one is a possible producer, not the only one.
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
  uint64_t offset = 0;  // from the start of the function, as in GpuInstruction
  SassKind kind = SassKind::unknown;
};

struct SassWaits {
  std::vector<SassProducer> producers;  // nearest first (in instructions), at most kMostProducers
  // True if all paths were followed to an end. False if something unknown may have written the value: another
  // function, an unknown instruction, an indirect jump, or code beyond a limit.
  bool complete = true;
};

class SassSlice {
 public:
  static constexpr size_t kMostInstructions = size_t{1} << 18U;  // longer functions are not analyzed
  static constexpr size_t kMostSteps = size_t{1} << 16U;         // limit of the backward search
  static constexpr size_t kMostProducers = 8;

  // All instructions of a function, sorted by offset.
  explicit SassSlice(std::span<const GpuInstruction> instructions);

  // Returns the producers for a stall reason of analyze/stalls/stall_reasons.h (with or without "_not_issued").
  // long_scoreboard: memory and textures; short_scoreboard: shared memory, special functions and the like; wait:
  // arithmetic directly before. For other reasons, which are not waits for a result, returns no producers.
  [[nodiscard]] SassWaits waits_for(uint64_t offset, std::string_view reason) const;

 private:
  struct Node {
    uint64_t offset = 0;
    uint32_t first_source = 0;  // index into sources_; the node's list ends at first_source of the next node
    bool open = false;          // may be reached from an unknown instruction
    SassInstruction instruction;
  };
  using Edges = std::vector<std::pair<uint32_t, uint32_t>>;  // (to, from)

  [[nodiscard]] size_t find(uint64_t offset) const;
  void add_edges(std::span<const GpuInstruction> instructions, Edges& edges);
  void mark_open(const Edges& edges);

  std::vector<Node> nodes_;
  std::vector<uint32_t> sources_;  // predecessors
  bool jumps_ = false;             // the function has indirect jumps
  bool returns_ = false;           // the function has RET instructions
};

}  // namespace gpuprof::symbolize
