// Lists the source lines of kernels with their samples. Inlined lines are below the line that calls them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/rows/aggregate.h"
#include "analyze/stalls/stalls.h"

namespace gpuprof::analyze {

inline constexpr size_t kAnnotatedReasons = 3;

struct SampledInstruction {
  uint64_t offset = 0;
  std::string_view text;
  uint64_t samples = 0;
};

struct AnnotatedLine {
  std::string_view function;
  std::string_view file;
  uint32_t line = 0;
  uint64_t samples = 0;  // includes the samples of lines inlined into this line
  std::array<uint64_t, kAnnotatedReasons> reasons{};
  // Sorted by offset; excludes the instructions of lines inlined into this one.
  std::vector<SampledInstruction> instructions;
  // Indexes into AnnotatedKernel::lines, the line with most samples first.
  std::vector<size_t> inlined;
};

struct AnnotatedKernel {
  std::string name;
  // Has at most kAnnotatedReasons reasons; stalls.kernel is empty, because `name` has the name.
  KernelStalls stalls;
  std::vector<AnnotatedLine> lines;  // a caller comes before the lines inlined into it
  std::vector<size_t> roots;         // lines that are not inlined, sorted by file and line
  std::vector<SampledInstruction> without_lines;
  uint64_t without_place = 0;
  bool can_have_lines = true;  // false: imported samples never have source lines
};

struct AnnotateOptions {
  size_t kernels = 0;                            // maximum number of kernels; 0: all
  std::function<bool(std::string_view)> wanted;  // selects by the kernel's name; empty: all
};

// Returns the selected kernels, the one with most samples first. Confidence intervals require
// AggregateOptions::stall_slices.
std::vector<AnnotatedKernel> annotate(const Aggregate& rows, const AnnotateOptions& options);

}  // namespace gpuprof::analyze
