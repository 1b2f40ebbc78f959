// Source lines of kernels with their samples; what is inlined lies below the line that calls it.
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
  std::string_view text;  // empty where it is not known
  uint64_t samples = 0;
};

struct AnnotatedLine {
  std::string_view function;
  std::string_view file;
  uint32_t line = 0;
  uint64_t samples = 0;                               // with what is inlined
  std::array<uint64_t, kAnnotatedReasons> reasons{};  // of these
  std::vector<SampledInstruction> instructions;       // of the line itself, by offset
  std::vector<size_t> inlined;                        // positions in AnnotatedKernel::lines, most samples first
};

struct AnnotatedKernel {
  std::string name;
  KernelStalls stalls;               // without its name; with the reasons of the columns, at most kAnnotatedReasons
  std::vector<AnnotatedLine> lines;  // a parent stands before what is inlined into it
  std::vector<size_t> roots;         // of these, those of the kernel's own functions: by file, then line
  std::vector<SampledInstruction> without_lines;
  uint64_t without_place = 0;
};

struct AnnotateOptions {
  size_t kernels = 0;                            // at most; 0: all
  std::function<bool(std::string_view)> wanted;  // by its name; none: all
};

// Most samples first. Intervals need AggregateOptions::stall_slices.
std::vector<AnnotatedKernel> annotate(const Aggregate& rows, const AnnotateOptions& options);

}  // namespace gpuprof::analyze
