// Fuzzes the reading of cubins: no read beyond the input, bounded time and memory, and repeatable results.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "symbolize/gpu/cubin_lines.h"

namespace {

using namespace gpuprof::symbolize;

constexpr size_t kMaxFunctions = 8;
constexpr uint64_t kStep = 16;  // bytes of an instruction
constexpr uint64_t kMaxOffset = 512;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

bool same(const std::vector<SourceFrame>& a, const std::vector<SourceFrame>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const SourceFrame& x, const SourceFrame& y) {
    return x.name == y.name && x.file == y.file && x.line == y.line;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto lines = CubinLines::open(std::as_bytes(std::span(data, size)));
  if (!lines) {
    return 0;
  }
  size_t functions = 0;
  for (const CubinFunction& function : lines->functions()) {
    const bool has_lines = lines->has_lines(function.name);
    for (uint64_t offset = 0; offset < kMaxOffset; offset += kStep) {
      const auto frames = lines->frames(function.name, offset);
      require(frames.size() <= 1024 && (frames.empty() || (has_lines && lines->facts().lines)));
      require(same(frames, lines->frames(function.name, offset)));
    }
    lines->frames(function.name, function.size - 1);
    if (++functions == kMaxFunctions) {
      break;
    }
  }
  return 0;
}
