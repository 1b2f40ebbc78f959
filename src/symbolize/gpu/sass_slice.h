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
  std::vector<SassProducer> producers;  // nearest first, counted in instructions; at most kMostProducers
  // True if the search followed all paths to their ends. False if something unknown may have written the value:
  // another function, an unknown instruction, an indirect jump, or code beyond a limit.
  bool complete = true;
};

class SassSlice {
 public:
  static constexpr size_t kMostInstructions = size_t{1} << 18U;  // longer functions are not analyzed
  static constexpr size_t kMostSteps = size_t{1} << 16U;         // limit of steps in one backward search
  static constexpr size_t kMostProducers = 8;

  // Takes all instructions of one function, sorted by offset.
  explicit SassSlice(std::span<const GpuInstruction> instructions);

  // Returns the producers for a stall reason of analyze/stalls/stall_reasons.h, with or without "_not_issued". The
  // reason long_scoreboard is a wait for memory or textures, short_scoreboard for shared memory, special functions
  // and the like, and wait for arithmetic directly before. All other reasons are not waits for a result, and have no
  // producers.
  [[nodiscard]] SassWaits waits_for(uint64_t offset, std::string_view reason) const;

 private:
  struct Node {
    uint64_t offset = 0;
    // Index in sources_ of the node's first predecessor. The last one is before first_source of the next node.
    uint32_t first_source = 0;
    bool open = false;  // an unknown instruction may lead here
    SassInstruction instruction;
  };
  using Edges = std::vector<std::pair<uint32_t, uint32_t>>;  // (to, from)

  [[nodiscard]] size_t find(uint64_t offset) const;
  void add_edges(std::span<const GpuInstruction> instructions, Edges& edges);
  void mark_open(const Edges& edges);

  std::vector<Node> nodes_;
  std::vector<uint32_t> sources_;  // predecessors
  bool jumps_ = false;
  bool returns_ = false;
};

}  // namespace gpuprof::symbolize
