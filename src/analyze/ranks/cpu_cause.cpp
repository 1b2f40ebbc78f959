#include "analyze/ranks/cpu_cause.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "analyze/ranks/lag.h"

namespace gpuprof::analyze {
namespace {

// A function is named if its calls hold at least this part of the excess of its caller.
constexpr double kLeastOfCaller = 0.7;

// Returns "sleeps" for the label "[sleeps]".
std::string without_brackets(const std::string& label) {
  return label.starts_with('[') && label.ends_with(']') ? label.substr(1, label.size() - 2) : label;
}

// A sum for each rank.
using Sums = std::vector<double>;

void add(const std::unordered_map<uint32_t, PathSum>& from, Sums& to) {
  for (const auto& [rank, sum] : from) {
    to[rank] += static_cast<double>(sum.ns);
  }
}

double median_of_others(const Sums& sums, size_t rank) {
  Sums others = sums;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(rank));
  return median_of(std::move(others));
}

double excess(const Sums& sums, size_t rank) {
  return sums[rank] - median_of_others(sums, rank);
}

// A function in the tree of calls.
struct Node {
  Sums sums;
  Origin origin = Origin::none;
  std::map<std::string, Node> calls;        // keyed by function
  std::map<std::string, Sums> by_location;  // keyed by the line of the call or sample
};

// Returns the innermost function that holds the excess: a function of the program, if there is one.
void name_function(const Node& root, size_t rank, CpuCause& cause) {
  const auto less = [rank](const auto& a, const auto& b) {
    return excess(a.second.sums, rank) < excess(b.second.sums, rank);
  };
  const auto less_at = [rank](const auto& a, const auto& b) { return excess(a.second, rank) < excess(b.second, rank); };
  bool is_own = false;
  for (const Node* node = &root; !node->calls.empty();) {
    const auto& [name, callee] = *std::max_element(node->calls.begin(), node->calls.end(), less);
    if (excess(callee.sums, rank) < kLeastOfCaller * excess(node->sums, rank)) {
      return;
    }
    if (callee.origin == Origin::own || !is_own) {
      is_own = callee.origin == Origin::own;
      cause.function = name;
      cause.location = std::max_element(callee.by_location.begin(), callee.by_location.end(), less_at)->first;
    }
    node = &callee;
  }
}

}  // namespace

std::vector<CpuCause> cpu_causes(Job& job, size_t rank, uint64_t first, uint64_t last) {
  const size_t ranks = job.ranks().size();
  Node root{.sums = Sums(ranks), .calls = {}, .by_location = {}};
  std::map<std::string, Sums> states;
  const auto sums = job.sums(first, last);
  for (size_t i = 0; i < sums.size(); ++i) {
    const JobPath& path = job.paths()[i];
    if (path.activity == Activity::blocked) {
      add(sums[i], states.try_emplace(without_brackets(job.kernel(path)), ranks).first->second);
    } else if (path.activity == Activity::on_cpu) {
      add(sums[i], root.sums);
      Node* node = &root;
      const CallPath call_path = job.call_path(path);
      for (const PathFrame& frame : call_path.shown()) {
        if (frame.cls == FrameClass::note || frame.cls == FrameClass::mark) {
          continue;
        }
        node =
            &node->calls.try_emplace(std::string(frame.name), Node{.sums = Sums(ranks), .calls = {}, .by_location = {}})
                 .first->second;
        node->origin = frame.origin;
        add(sums[i], node->sums);
        add(sums[i], node->by_location.try_emplace(std::string(frame.location), ranks).first->second);
      }
    }
  }
  std::vector<CpuCause> causes;
  const auto blocks = static_cast<double>(last - first + 1);
  const auto add_cause = [&](const std::string& state, const Sums& of) {
    if (excess(of, rank) <= 0) {
      return;
    }
    causes.push_back({.state = state,
                      .function = {},
                      .location = {},
                      .ns = static_cast<uint64_t>(of[rank] / blocks),
                      .others_ns = static_cast<uint64_t>(median_of_others(of, rank) / blocks)});
  };
  add_cause("on CPU", root.sums);
  if (!causes.empty()) {
    name_function(root, rank, causes.front());
  }
  for (const auto& [state, of] : states) {
    add_cause(state, of);
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const CpuCause& a, const CpuCause& b) { return a.ns - a.others_ns > b.ns - b.others_ns; });
  return causes;
}

}  // namespace gpuprof::analyze
