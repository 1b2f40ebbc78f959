// The functions of the CPU that GPU work comes from: the sandwich of a report, total and direct.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/flame_tree.h"
#include "analyze/stack_view.h"
#include "base/hash.h"
#include "profile/records.h"

namespace gpuprof::analyze {

// One function: all its lines, inlined or not. Python functions of one name in two files are two.
struct FunctionLine {
  std::string_view name;  // as long as the view
  std::string_view file;  // short, of a Python function; else empty
  Origin origin = Origin::none;
  Weight total;   // of all work launched below it, once however often it is in a stack
  Weight direct;  // of what it launched itself, through nothing but the vendor's interface and the kernel
};

// No `total` exceeds `with_stack`, and the sum of all `direct` is `with_stack`.
struct FunctionTable {
  std::vector<FunctionLine> lines;  // in no order
  Weight with_stack;                // of all work with a function in its stack
};

// What was launched from each stack: rows are many, but their stacks are few.
class LaunchSums {
 public:
  // The stack of a launch, and for a graph's node that of its capture.
  struct Stacks {
    profile::StackId ustack{};
    profile::StackId kstack{};
    profile::StackId capture{};
    bool operator==(const Stacks&) const = default;
  };
  struct Launch {
    Stacks stacks;
    Weight weight;
  };

  void add(const profile::Work& work, const Weight& weight);
  [[nodiscard]] const std::vector<Launch>& all() const { return launches_; }  // in the order of their first appearance

 private:
  struct Hash {
    Hash() : seed(random_seed()) {}
    uint64_t seed;
    size_t operator()(const Stacks& stacks) const;
  };
  std::vector<Launch> launches_;
  std::unordered_map<Stacks, uint32_t, Hash> positions_;
};

// What of each stack is shown is the view's choice; what is no function ("[truncated]") is left out. Functions of the
// vendor's interface ("cudaLaunchKernel"), of kernel space and without a name launch for the one that called them,
// where there is one. Looks at each frame of each stack once.
FunctionTable function_table(const LaunchSums& launches, StackView& view);

}  // namespace gpuprof::analyze
