// GPU work by the source lines of the CPU stacks that launched it.
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
  std::string_view function;  // of the first frame that was met there
  Weight self;                // launched where this is the innermost line that is known
  Weight total;               // with this line anywhere in the stack, once where it is there several times
};

struct LaunchingFile {
  std::string_view file;
  std::vector<LaunchingLine> lines;  // by number
  Weight self;                       // of all its lines
  Weight total;                      // of stacks with a line of it
};

struct LaunchingLines {
  std::vector<LaunchingFile> files;  // those with most of their own first, then those with most in all
  bool timed = false;                // by ns; otherwise launches are counted
  Weight all;                        // of the work that was wanted
  Weight without_stack;              // of it: launched without a CPU stack
  Weight without_lines;              // with a stack in which no line is known
};

// `wanted`: work by its name; none: all. Texts are those of `rows`.
LaunchingLines launching_lines(const Aggregate& rows, const std::function<bool(std::string_view)>& wanted);

}  // namespace gpuprof::analyze
