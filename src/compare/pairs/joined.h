// The lines of a comparison while it is found out which of them are the same. Internal to comparison.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compare/comparison.h"
#include "compare/pairs/pairing.h"

namespace gpuprof::compare {

// Sums over the runs of one side.
struct Sides {
  Cost old_sum;
  Cost new_sum;

  [[nodiscard]] bool in_old() const { return old_sum.ns > 0 || old_sum.count > 0; }
  [[nodiscard]] bool in_new() const { return new_sum.ns > 0 || new_sum.count > 0; }
  [[nodiscard]] bool only_old() const { return in_old() && !in_new(); }
  [[nodiscard]] bool only_new() const { return in_new() && !in_old(); }
};

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;  // a line that only old runs have; its line in new ones

// Lines are found by their place in a list, and places stay until finish(): a line that was found to be another one's
// old form is empty from then on, and its costs are with the other.
class Joined {
 public:
  struct Path {
    uint32_t kernel = 0;
    uint32_t stack = 0;  // in stacks()
    uint32_t old_stack = 0;
    Match match = Match::exact;
    std::vector<Cost> costs;
  };

  Joined(size_t old_runs, size_t new_runs) : old_runs_(old_runs), runs_(old_runs + new_runs) {}

  void add(const Run& run, size_t at);

  [[nodiscard]] const std::vector<KernelLine>& kernels() const { return kernels_; }
  [[nodiscard]] const std::vector<FunctionLine>& functions() const { return functions_; }
  [[nodiscard]] const std::vector<Path>& paths() const { return paths_; }
  // The functions of a stack, root first.
  [[nodiscard]] const std::u32string& stack(uint32_t id) const { return *stacks_[id]; }
  [[nodiscard]] size_t stack_count() const { return stacks_.size(); }
  [[nodiscard]] Sides sides(const std::vector<Cost>& costs) const;
  [[nodiscard]] double launches(const Sides& sums) const;                     // of a run of the side that has any
  [[nodiscard]] Candidate candidate(uint32_t line, const Sides& sums) const;  // without parents

  // Makes one line of each pair. Paths and stacks are numbered anew: those that have become the same are one.
  void join(const Pairs& kernels, const Pairs& functions, Match match);
  void join_paths(const Pairs& paths);

  // Moves the lines that are left to `all`, and says of each what has become of it.
  void finish(Comparison& all);

 private:
  uint32_t line_of(const Kernel& kernel);
  uint32_t line_of(const Function& function);
  uint32_t stack_of(std::u32string functions);
  Path& path_of(uint32_t kernel, uint32_t stack);
  template <typename Line>
  void settle(Line& line, const std::vector<Cost>& costs) const;
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
  std::unordered_map<uint64_t, uint32_t> path_ids_;  // by kernel and stack
};

// Each stack without the functions that one side alone has: what is left says where it is on the other side, too.
class Landmarks {
 public:
  explicit Landmarks(const Joined& lines);

  // The same number for all stacks that have the same functions of both sides.
  [[nodiscard]] uint32_t id(uint32_t stack) const { return ids_[stack]; }
  // There is a stack, and at least half of its functions are on both sides.
  [[nodiscard]] bool placed(uint32_t stack) const { return placed_[stack]; }

 private:
  std::vector<uint32_t> ids_;
  std::vector<bool> placed_;
};

Pairs match_functions_by_name(const Joined& lines);
Pairs match_kernels_by_name(const Joined& lines, const Landmarks& landmarks);
Pairs match_kernels_by_place(const Joined& lines, const Landmarks& landmarks);
Pairs match_paths(const Joined& lines, const Landmarks& landmarks);
// Functions that stand at the same place of paths that are the same.
Pairs match_functions_by_place(const Joined& lines, const Pairs& paths);

// Marks the paths of a kernel whose launches went from one to another.
void mark_moved(Comparison& all);

}  // namespace gpuprof::compare
