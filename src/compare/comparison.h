// Several runs side by side: each kernel, function and call path once, with what it cost in each run. Says what is the
// same thing on both sides, and nothing about what the numbers mean.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compare/run.h"

namespace gpuprof::compare {

// How a line was found on both sides.
enum class Match : uint8_t {
  exact,
  normalized,  // by a name without template arguments, hashes, autotuners' suffixes
  assigned,    // by what it is launched from, how often, and how long it takes
  none,        // it is on one side only
};

enum class Change : uint8_t {
  both,     // on both sides, under the same name
  renamed,  // on both sides, under another name
  moved,    // of a path: the same kernel, launched by other callers
  appeared,
  gone,
};

constexpr bool is_on_both_sides(Change change) {
  return change != Change::appeared && change != Change::gone;
}

struct KernelLine {
  std::string name;      // on the new side; on the old one where it is gone
  std::string old_name;  // on the old side, where that is another
  Match match = Match::exact;
  Change change = Change::both;
  std::vector<Cost> costs;          // one a run, in the order of Comparison::runs
  std::array<StallSums, 2> stalls;  // of the old runs, and of the new ones
};

struct FunctionLine {
  std::string name;
  std::string file;
  std::string old_name;
  bool note = false;  // as in Function
  Match match = Match::exact;
  Change change = Change::both;
  std::vector<Cost> total;
  std::vector<Cost> direct;
};

struct PathLine {
  uint32_t kernel = 0;                  // in Comparison::kernels
  std::vector<uint32_t> functions;      // in Comparison::functions, root first, as on the new side
  std::vector<uint32_t> old_functions;  // where they are others
  Match match = Match::exact;
  Change change = Change::both;
  std::vector<Cost> costs;
};

struct Comparison {
  std::vector<const RunFacts*> runs;  // those of the old side first; they must outlive this
  size_t old_runs = 0;
  std::vector<Cost> totals;  // one a run
  std::vector<KernelLine> kernels;
  std::vector<FunctionLine> functions;
  std::vector<PathLine> paths;
  std::vector<std::string> stall_reasons;  // each once; StallSums of kernels name them by their place
};

Comparison compare(std::span<const Run> old_runs, std::span<const Run> new_runs);

}  // namespace gpuprof::compare
