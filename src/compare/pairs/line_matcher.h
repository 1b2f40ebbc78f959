// Matches the lines of a comparison. Internal to comparison.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compare/comparison.h"
#include "compare/pairs/pairing.h"

namespace gpuprof::compare {

struct Sides {
  Cost old_sum;
  Cost new_sum;

  [[nodiscard]] bool in_old() const { return old_sum.ns > 0 || old_sum.count > 0; }
  [[nodiscard]] bool in_new() const { return new_sum.ns > 0 || new_sum.count > 0; }
  [[nodiscard]] bool only_old() const { return in_old() && !in_new(); }
  [[nodiscard]] bool only_new() const { return in_new() && !in_old(); }
};

// Pairs of a line that only old runs have and the matching line that only new runs have.
using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

// The lines (kernels, functions, paths) of both sides. Indexes are stable until finish(). A match moves the old line's
// costs to the new line.
class LineMatcher {
 public:
  struct Path {
    uint32_t kernel = 0;
    uint32_t stack = 0;  // index for stack()
    uint32_t old_stack = 0;
    Match match = Match::exact;
    std::vector<Cost> costs;
  };

  LineMatcher(size_t old_runs, size_t new_runs) : old_runs_(old_runs), runs_(old_runs + new_runs) {}

  void add(const Run& run, size_t at);

  [[nodiscard]] const std::vector<KernelLine>& kernels() const { return kernels_; }
  [[nodiscard]] const std::vector<FunctionLine>& functions() const { return functions_; }
  [[nodiscard]] const std::vector<Path>& paths() const { return paths_; }
  [[nodiscard]] const std::u32string& stack(uint32_t id) const { return *stacks_[id]; }
  [[nodiscard]] size_t stack_count() const { return stacks_.size(); }
  [[nodiscard]] Sides sides(const std::vector<Cost>& costs) const;
  // Mean per old run; if the old runs have no launches, mean per new run.
  [[nodiscard]] double launches(const Sides& sums) const;
  [[nodiscard]] Candidate candidate(uint32_t line, const Sides& sums) const;  // does not fill Candidate::parents

  // Merges each pair into one line. Renumbers paths and stacks, and merges those that became equal.
  void join(const Pairs& kernels, const Pairs& functions, Match match);
  void join_paths(const Pairs& paths);

  // Moves the remaining lines to `all`, and sets what has changed in each.
  void finish(Comparison& all);

 private:
  uint32_t line_of(const Kernel& kernel);
  uint32_t line_of(const Function& function);
  uint32_t stack_of(std::u32string functions);
  Path& path_of(uint32_t kernel, uint32_t stack);
  template <typename Line>
  void set_change(Line& line, const std::vector<Cost>& costs) const;
  void add_costs(std::vector<Cost>& costs, const std::vector<Cost>& more) const;
  void add_stalls(const Run& run, size_t side, const std::vector<uint32_t>& kernels);
  [[nodiscard]] PathLine line_of(Path& path, const std::vector<uint32_t>& kernel_lines,
                                 const std::vector<uint32_t>& function_lines) const;

  size_t old_runs_;
  size_t runs_;
  std::vector<KernelLine> kernels_;
  std::vector<FunctionLine> functions_;
  std::vector<Path> paths_;
  std::vector<std::string> stall_reasons_;
  std::vector<const std::u32string*> stacks_;
  std::unordered_map<std::string, uint32_t> kernel_ids_;
  std::unordered_map<std::string, uint32_t> function_ids_;
  std::unordered_map<std::string, uint32_t> stall_ids_;
  std::unordered_map<std::u32string, uint32_t> stack_ids_;
  std::unordered_map<uint64_t, uint32_t> path_ids_;  // key: kernel and stack
};

// Identifies a stack by those of its functions that exist on both sides, to find the same stack on the other side.
class SharedFunctions {
 public:
  explicit SharedFunctions(const LineMatcher& lines);

  // Returns an id that is equal for stacks that differ only in functions that one side lacks.
  [[nodiscard]] uint32_t id(uint32_t stack) const { return ids_[stack]; }
  // True if the stack is not empty and at least half of its functions exist on both sides.
  [[nodiscard]] bool placed(uint32_t stack) const { return placed_[stack]; }

  // True if the stack has a function, and both sides have all its functions of the program itself. Programs with other
  // code also share main and the functions of libraries.
  [[nodiscard]] bool same_code(uint32_t stack) const { return same_code_[stack]; }
  // True if the stack has a function of the program itself, other than main.
  [[nodiscard]] bool own_code(uint32_t stack) const { return own_code_[stack]; }

 private:
  std::vector<uint32_t> ids_;
  std::vector<bool> placed_;
  std::vector<bool> same_code_;
  std::vector<bool> own_code_;
};

Pairs match_functions_by_name(const LineMatcher& lines);
Pairs match_kernels_by_name(const LineMatcher& lines, const SharedFunctions& landmarks);
Pairs match_kernels_by_callers(const LineMatcher& lines, const SharedFunctions& landmarks);
Pairs match_paths(const LineMatcher& lines, const SharedFunctions& landmarks);
// Matches functions at the same position of matched paths.
Pairs match_functions_by_position(const LineMatcher& lines, const Pairs& paths);

// Marks the paths of a kernel whose launches moved from one path to another.
void mark_moved(Comparison& all);

}  // namespace gpuprof::compare
