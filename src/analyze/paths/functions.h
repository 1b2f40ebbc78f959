// Finds the CPU functions that launch GPU work: their total and direct weights, as in a sandwich view.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/paths/flame_tree.h"
#include "analyze/paths/launch_site.h"
#include "analyze/paths/stack_view.h"
#include "analyze/rows/estimates.h"
#include "profile/records.h"

namespace gpuprof::analyze {

// Finds the function of a path that launched the work: the innermost function of the program or a library, or else the
// innermost of all. A launch by a vendor interface, kernel space or unnamed code counts for its caller.
class Launcher {
 public:
  // Call it for each function of the launch stack, then of the capture stack, outermost first. Skip notes
  // ("[truncated]").
  void add(uint32_t function, Origin origin) {
    innermost_ = function;
    if (origin <= Origin::library) {
      caller_ = function;
    }
  }
  [[nodiscard]] std::optional<uint32_t> function() const { return caller_ ? caller_ : innermost_; }

 private:
  std::optional<uint32_t> caller_;
  std::optional<uint32_t> innermost_;
};

// A function with all its source lines, inlined or not. Python functions of the same name in two files are separate.
struct FunctionLine {
  std::string_view name;  // valid as long as the StackView exists
  std::string_view file;  // shortened source path of a Python function; empty for other functions
  Origin origin = Origin::none;
  Weight total;         // work launched below the function; counts once per stack, even with recursion
  Weight direct;        // work that the function launched itself, according to Launcher
  uint64_t paths = 0;   // hash of the set of launches below the function; functions with equal sets have equal hashes
  uint64_t others = 0;  // number of other functions merged into this line by join_chains()
  Uncertainty uncertainty;  // of `total`
};

// No `total` exceeds `with_stack`. The sum of all `direct` equals `with_stack`.
struct FunctionTable {
  std::vector<FunctionLine> lines;  // in the order of their first appearance, callers before callees
  Weight with_stack;                // work with at least one function in its stacks
  uint64_t steps = 0;               // number of frames and functions examined, so that tests can check the effort
};

// Sums the launched work by launch site: there are many rows, but few stacks.
class LaunchSums {
 public:
  struct Launch {
    LaunchSite site;
    Weight weight;
    Uncertainty uncertainty;  // of `weight`
  };

  // Returns the launch site, so that the caller can add to its uncertainty.
  Launch& add(const profile::Work& work, const Weight& weight);
  [[nodiscard]] const std::vector<Launch>& all() const { return launches_; }  // in the order of their first appearance

 private:
  std::vector<Launch> launches_;
  std::unordered_map<LaunchSite, uint32_t, LaunchSiteHash> positions_;
};

// Builds the table from the frames that the view shows, without notes ("[truncated]"). Examines the frames of each
// stack once, and then, for each launch, the distinct functions of its stacks.
FunctionTable function_table(const LaunchSums& launches, StackView& view);

// Merges functions that are in the same paths, such as a chain of calls, into one line, and sums their `direct`. The
// line shows the innermost function of the program. If all are library functions, and one launches work, it shows the
// outermost native function, which says what was requested. If none launches work, it shows the innermost library
// function, because the calls of that one lead to different paths.
void join_chains(std::vector<FunctionLine>& lines);

}  // namespace gpuprof::analyze
