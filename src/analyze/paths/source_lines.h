// Sums GPU work by source line of the CPU stacks that launched it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "analyze/rows/aggregate.h"

namespace gpuprof::analyze {

struct LaunchingLine {
  uint32_t line = 0;
  // Functions with this line, such as instances of a template; greatest share of `total` first.
  std::vector<std::string_view> functions;
  Weight self;              // work whose innermost known line in the stack is this line
  Weight total;             // work with this line anywhere in the stack; recursion counts once
  Uncertainty uncertainty;  // of `total`
};

struct LaunchingFile {
  std::string_view file;
  std::vector<LaunchingLine> lines;  // sorted by line number
  Weight self;                       // sum over `lines`
  Weight total;                      // work with any of `lines` in its stack
};

struct LaunchingLines {
  // The program's own files first, then those of libraries, then generated ones ("<string>"). Among each other by self,
  // then by total, greatest first. No start-up code.
  std::vector<LaunchingFile> files;
  bool timed = false;      // `files` are sorted by ns, not by launches
  bool estimated = false;  // by --max-overhead
  Weight all;              // the selected work
  Weight without_stack;    // work launched without a CPU stack
  Weight without_lines;    // work without a known line in its stack
};

// Sums the work whose name `wanted` accepts. If `wanted` is empty, sums all work. Texts in the result belong to `rows`.
LaunchingLines launching_lines(const Aggregate& rows, const std::function<bool(std::string_view)>& wanted);

}  // namespace gpuprof::analyze
