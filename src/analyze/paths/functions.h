// The functions of the CPU that GPU work comes from: the sandwich of a report, total and direct.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/paths/flame_tree.h"
#include "analyze/paths/launch_site.h"
#include "analyze/paths/stack_view.h"
#include "profile/records.h"

namespace gpuprof::analyze {

// Which function of a path launched its work: the innermost of the program or a library, or where there is none, the
// innermost at all. The vendor's interface, kernel space and code without a name launch for the one that called them.
class Launcher {
 public:
  // Of each function of the path, root first: a graph's launch, then its capture. Not of what is none ("[truncated]").
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

// One function: all its lines, inlined or not. Python functions of one name in two files are two.
struct FunctionLine {
  std::string_view name;  // as long as the view
  std::string_view file;  // short, of a Python function; else empty
  Origin origin = Origin::none;
  Weight total;         // of all work launched below it, once however often it is in a stack
  Weight direct;        // of what it launched itself, as Launcher says
  uint64_t paths = 0;   // equal for functions that all the same work was launched below
  uint64_t others = 0;  // functions that the line stands for as well, see join_chains()
};

// No `total` exceeds `with_stack`, and the sum of all `direct` is `with_stack`.
struct FunctionTable {
  std::vector<FunctionLine> lines;  // in the order in which they were met, callers first
  Weight with_stack;                // of all work with a function in its stack
  uint64_t steps = 0;               // that were taken to make it: frames and functions looked at
};

// What was launched from each stack: rows are many, but their stacks are few.
class LaunchSums {
 public:
  struct Launch {
    LaunchSite site;
    Weight weight;
  };

  void add(const profile::Work& work, const Weight& weight);
  [[nodiscard]] const std::vector<Launch>& all() const { return launches_; }  // in the order of their first appearance

 private:
  std::vector<Launch> launches_;
  std::unordered_map<LaunchSite, uint32_t, LaunchSiteHash> positions_;
};

// What of each stack is shown is the view's choice; what is no function ("[truncated]") is left out. Looks at the
// frames of each stack once, and for each launch at the different functions of its stacks.
FunctionTable function_table(const LaunchSums& launches, StackView& view);

// Functions that are in all the same paths, as those of a chain of calls are, have the same total, and become one line:
// of the program's own function that is innermost, or of a library's: of the outermost native one where the chain
// launches work, which says what was asked for, otherwise of the innermost, from which paths part. Its `direct` is that
// of all.
void join_chains(std::vector<FunctionLine>& lines);

}  // namespace gpuprof::analyze
