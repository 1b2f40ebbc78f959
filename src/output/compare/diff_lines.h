// What all outputs of a comparison show: its lines with their differences, in order.
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
  uint32_t line = 0;  // in the list of the comparison that it is from
  compare::Difference difference;
};

struct DiffFilter {
  std::optional<Pattern> kernel;  // kernels of that name, and paths that launch them
  std::optional<Pattern> path;    // paths with such a function, kernels and functions of those
};

// All lines, those that changed most first. The comparison must outlive it.
struct DiffLines {
  const compare::Comparison& all;
  bool timed = true;
  compare::Difference total;  // of the runs, or with a filter of the paths that pass it
  bool filtered = false;
  bool stalls = true;  // kernels are whole ones: samples are not known by path
  std::vector<DiffLine> kernels;
  std::vector<DiffLine> functions;  // by the change of their totals
  std::vector<DiffLine> paths;

  [[nodiscard]] bool nothing_differs() const;
};

DiffLines diff_lines(const compare::Comparison& all, bool timed, const DiffFilter& filter);

// Functions that say where a change comes from: no notes, and of those that always run together (a caller and what
// alone it calls) the innermost one. In the order of `lines.functions`.
std::vector<DiffLine> telling_functions(const DiffLines& lines);

// What stands in the place of all tables where nothing_differs(); names may.
std::string nothing_text(const DiffLines& lines);

uint64_t rounded_count(const compare::SideCost& side);

// "", "new", "gone", "moved", "renamed".
std::string_view change_word(compare::Change change);
// "both", "renamed", ..., for programs.
std::string_view change_name(compare::Change change);
std::string_view match_name(compare::Match match);

// A kernel's name in at most `width` characters. `full`: as the profile has it, but for what is cut in the middle.
std::string kernel_text(std::string_view name, bool full, size_t width);
// Of a kernel that was renamed, what it was: whole where the short names do not tell the two apart.
std::string old_kernel_text(const compare::KernelLine& line, bool full, size_t width);

// "step (model.py)"
std::string function_text(const compare::FunctionLine& function);

// "+1.23 ms", "-5", "0 ns"; "+12.3%", "new".
std::string signed_value(int64_t value, bool timed);
std::string change_percent(const compare::Difference& difference);
std::string value_text(uint64_t value, bool timed);

// One fact of all runs of a side: "580.95.05"; "580.95.05, 570.1" where they differ; empty where none has it.
std::string joined_fact(std::span<const compare::RunFacts* const> runs, std::string compare::RunFacts::*fact);
std::string joined_devices(std::span<const compare::RunFacts* const> runs);
std::string joined_dates(std::span<const compare::RunFacts* const> runs);
std::span<const compare::RunFacts* const> side_of(const compare::Comparison& all, bool old_side);

}  // namespace gpuprof::output
