// Puts runs side by side: each kernel, function and call path once, with its cost in each run. Does not judge them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compare/run.h"

namespace gpuprof::compare {

// How a kernel, function or path of the old runs was found in the new runs.
enum class Match : uint8_t {
  exact,
  normalized,  // their names are equal without template arguments, hashes and autotuner suffixes
  assigned,    // chosen by callers, number of launches and duration
  none,        // exists on one side only
};

enum class Change : uint8_t {
  both,     // exists on both sides with the same name
  renamed,  // exists on both sides with different names
  moved,    // used only for paths: launches moved to or from another path of the same kernel
  appeared,
  gone,
};

constexpr bool is_on_both_sides(Change change) {
  return change != Change::appeared && change != Change::gone;
}

struct KernelLine {
  std::string name;      // name on the new side; if the new side lacks the kernel, name on the old side
  std::string old_name;  // name on the old side, if it is different
  Match match = Match::exact;
  Change change = Change::both;
  std::vector<Cost> costs;                      // one per run, in the order of Comparison::runs
  std::array<analyze::Durations, 2> durations;  // [0]: all old runs, [1]: all new runs
  std::array<StallSums, 2> stalls;              // [0]: all old runs, [1]: all new runs
};

struct FunctionLine {
  std::string name;
  std::string file;
  std::string old_name;
  bool note = false;  // true: not a function, but a note in a path; see Function::note
  analyze::Origin origin = analyze::Origin::none;
  Match match = Match::exact;
  Change change = Change::both;
  std::vector<Cost> total;
  std::vector<Cost> direct;
};

struct PathLine {
  uint32_t kernel = 0;                  // index into Comparison::kernels
  std::vector<uint32_t> functions;      // the path on the new side: indexes into Comparison::functions, outermost first
  std::vector<uint32_t> old_functions;  // the path on the old side, if it is different
  Match match = Match::exact;
  Change change = Change::both;
  std::vector<Cost> costs;
};

struct Comparison {
  std::vector<const RunFacts*> runs;  // the old side's runs come first; all runs must outlive the comparison
  size_t old_runs = 0;
  std::vector<Cost> totals;  // one per run
  std::vector<KernelLine> kernels;
  std::vector<FunctionLine> functions;
  std::vector<PathLine> paths;
  std::vector<std::string> stall_reasons;  // each reason occurs once; StallSums contain indexes into this list
};

// Returns the percentiles of the kernel's durations in all old runs (`side` 0) or all new runs (1).
analyze::Percentiles percentiles_of(const Comparison& all, const KernelLine& kernel, size_t side);

Comparison compare(std::span<const Run> old_runs, std::span<const Run> new_runs);

}  // namespace gpuprof::compare
