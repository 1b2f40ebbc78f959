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
  uint64_t samples = 0;  // including inlined lines
  std::array<uint64_t, kAnnotatedReasons> reasons{};
  std::vector<SampledInstruction> instructions;  // sorted by offset; not those of lines inlined into this one
  std::vector<size_t> inlined;                   // indexes into AnnotatedKernel::lines, most samples first
};

struct AnnotatedKernel {
  std::string name;
  KernelStalls stalls;               // stalls.kernel is empty (see `name`); at most kAnnotatedReasons reasons
  std::vector<AnnotatedLine> lines;  // a caller comes before the lines inlined into it
  std::vector<size_t> roots;         // lines that are not inlined, sorted by file and line
  std::vector<SampledInstruction> without_lines;
  uint64_t without_place = 0;
};

struct AnnotateOptions {
  size_t kernels = 0;                            // maximum number of kernels; 0: all
  std::function<bool(std::string_view)> wanted;  // selects by the kernel's name; empty: all
};

// Returns the kernels with the most samples first. Confidence intervals need AggregateOptions::stall_slices.
std::vector<AnnotatedKernel> annotate(const Aggregate& rows, const AnnotateOptions& options);

}  // namespace gpuprof::analyze
