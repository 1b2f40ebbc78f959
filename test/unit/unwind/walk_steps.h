// The memory of a stack that tests of steps walk.
#pragma once

#include <cstdint>
#include <vector>

#include "walk.h"

namespace gpuprof::unwind {

// The stack has 64 words and begins at address 0x1000. The word at 0x1000 + 8 * i is 0x5000 + i.
class FakeStack {
 public:
  FakeStack() : words(64) {
    for (size_t i = 0; i < words.size(); ++i) {
      words[i] = 0x5000 + i;
    }
  }
  bool operator()(uint64_t address, uint64_t* value) const {
    if (address < 0x1000 || address % 8 != 0 || (address - 0x1000) / 8 >= words.size()) {
      return false;
    }
    *value = words[(address - 0x1000) / 8];
    return true;
  }

  std::vector<uint64_t> words;
};

constexpr uint64_t rule_with(unsigned kind, gpuprof_unwind_fp fp, int64_t cfa, int64_t at) {
  return GPUPROF_UNWIND_RULE(kind, fp, cfa, at);
}

}  // namespace gpuprof::unwind
