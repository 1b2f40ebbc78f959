// Prepares the lines and differences that all outputs of a comparison show.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/pattern.h"
#include "compare/comparison.h"
#include "compare/difference.h"

namespace gpuprof::output {

struct DiffLine {
  uint32_t line = 0;  // index in the comparison's list of kernels, functions or paths
  compare::Difference difference;
};

struct DiffFilter {
  std::optional<Pattern> kernel;  // selects kernels by name, and the paths that launch these kernels
  // Selects paths that have a matching function, and the kernels and functions of these paths.
  std::optional<Pattern> path;
};

// All lines, largest changes first. The comparison must outlive this object.
struct DiffLines {
  const compare::Comparison& all;
  bool timed = true;
  compare::Difference total;  // old and new total of the runs; if a filter is set, the total of the matching paths only
  bool filtered = false;
  // True: stalls can be shown; false if a path filter is set, because stalls are known only per kernel.
  bool stalls = true;
  std::vector<DiffLine> kernels;
  std::vector<DiffLine> functions;  // sorted by the change of each function's total
  std::vector<DiffLine> paths;

  [[nodiscard]] bool nothing_differs() const;
  // Returns what the values count if nothing is timed: "launches" or "samples".
  [[nodiscard]] const char* counted() const;
  [[nodiscard]] analyze::Measure measure() const { return all.runs.front()->measure; }
  // Returns what the values are: "GPU time", "CPU time", or counted().
  [[nodiscard]] const char* measured() const;
  // False: changes are not split into those by launches and by durations.
  [[nodiscard]] bool of_launches() const { return timed && measure() == analyze::Measure::gpu; }
};

DiffLines diff_lines(const compare::Comparison& all, bool timed, const DiffFilter& filter);

// Returns the functions that show where a change comes from, in the order of `lines.functions`. Leaves out notes such
// as "[truncated]". If functions always run together, such as a caller and its only callee, returns only the innermost
// one.
std::vector<DiffLine> significant_functions(const DiffLines& lines);

// Returns the text that replaces all tables if nothing_differs(). It reports kernels that were only renamed.
std::string nothing_text(const DiffLines& lines);

uint64_t rounded_count(const compare::SideCost& side);

// Returns "", "new", "gone", "moved" or "renamed".
std::string_view change_word(compare::Change change);
// Returns "both", "renamed", "moved", "appeared" or "gone", for output that programs read.
std::string_view change_name(compare::Change change);
std::string_view match_name(compare::Match match);

// Returns a kernel's name in at most `width` characters. With `full`, the name is not abbreviated; if it is too long,
// its middle is cut out.
std::string kernel_text(std::string_view name, bool full, size_t width);
// Returns the old name of a renamed kernel. Returns the complete name if both short names are equal.
std::string old_kernel_text(const compare::KernelLine& line, bool full, size_t width);

// Returns "step (model.py)".
std::string function_text(const compare::FunctionLine& function);

// Return texts: signed_value() "+1.23 ms", "-5" or "0 ns"; change_percent() "+12.3%" or "new".
std::string signed_value(int64_t value, bool timed);
std::string change_percent(const compare::Difference& difference);
std::string value_text(uint64_t value, bool timed);

// Return a fact about the runs of a side, such as "580.95.05". If the runs differ, return all values, such as
// "580.95.05, 570.1". If the fact is unknown, return "".
std::string joined_fact(std::span<const compare::RunFacts* const> runs, std::string compare::RunFacts::*fact);
std::string joined_devices(std::span<const compare::RunFacts* const> runs);
std::string joined_dates(std::span<const compare::RunFacts* const> runs);
std::span<const compare::RunFacts* const> side_of(const compare::Comparison& all, bool old_side);

}  // namespace gpuprof::output
