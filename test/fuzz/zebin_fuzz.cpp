// Fuzzes the reading of zebins: no read beyond the input, bounded time and memory, and lines only for existing code.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "symbolize/gpu/zebin.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gpuprof::symbolize;
  constexpr size_t kMostKernels = 8;
  constexpr uint64_t kStep = 16;  // bytes of an instruction
  constexpr uint64_t kMaxOffset = 512;
  ReadingBudget budget({}, {});
  const auto code = Zebin::parse(std::as_bytes(std::span(data, size)), budget);
  if (code == nullptr) {
    return 0;
  }
  const auto& kernels = code->kernels();
  for (const Zebin::Kernel& kernel : std::span(kernels).first(std::min(kernels.size(), kMostKernels))) {
    for (uint64_t offset = 0; offset < std::min(kernel.bytes, kMaxOffset); offset += kStep) {
      code->lines(kernel.name, offset);
    }
    if (kernel.bytes > size || !code->lines(kernel.name, size).empty()) {
      std::abort();
    }
  }
  return 0;
}
