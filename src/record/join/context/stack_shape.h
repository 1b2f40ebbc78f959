// Depth and completeness of stacks, for the data-quality summary of a recording.
#pragma once

#include <cstdint>
#include <map>

namespace gpuprof::record {

struct StackShape {
  uint32_t flags = 0;  // GPUPROF_STACK_... bits
  // Number of native frames, except those in the vendor's tool library and the injection library.
  uint32_t native = 0;
  uint32_t python = 0;
};

// A histogram of stack depths: maps each depth to a number of launches.
class Depths {
 public:
  void add(uint32_t depth, uint64_t launches) { launches_[depth] += launches; }
  [[nodiscard]] bool empty() const { return launches_.empty(); }
  [[nodiscard]] uint32_t max() const { return launches_.empty() ? 0 : launches_.rbegin()->first; }
  [[nodiscard]] uint32_t median() const {  // returns the lower of two medians
    uint64_t all = 0;
    for (const auto& [depth, launches] : launches_) {
      all += launches;
    }
    uint64_t below = 0;
    for (const auto& [depth, launches] : launches_) {
      below += launches;
      if (below >= all - below) {
        return depth;
      }
    }
    return 0;
  }

 private:
  std::map<uint32_t, uint64_t> launches_;  // key: depth, so at most GPUPROF_STACK_MAX_WORDS entries
};

}  // namespace gpuprof::record
