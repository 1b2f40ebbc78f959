#include "analyze/ranks/cpu_cause.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

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

// Limits the memory for the frames of sampled paths. A job with more has no names of functions here.
constexpr size_t kMostFrames = 4'000'000;

// A sampled path. Frames are looked at one by one, from the outermost: a tree of them would be as deep as the deepest
// stack, and would have sums of all ranks for each function.
struct SampledPath {
  const std::unordered_map<uint32_t, PathSum>* sums;
  std::vector<PathFrame> frames;
};

// Sums up the paths by a text of their frame at this depth.
std::map<std::string_view, Sums> sums_at(const std::vector<SampledPath>& paths, size_t depth, size_t ranks,
                                         std::string_view PathFrame::*text) {
  std::map<std::string_view, Sums> sums;
  for (const SampledPath& path : paths) {
    if (depth < path.frames.size()) {
      add(*path.sums, sums.try_emplace(path.frames[depth].*text, ranks).first->second);
    }
  }
  return sums;
}

// What threads did in one state, and the sums of it.
struct InState {
  Sums sums;
  std::vector<SampledPath> paths;
};

// Returns whether the innermost function of the program has called the driver.
bool is_in_driver(const SampledPath& path) {
  const auto frame = std::find_if(path.frames.rbegin(), path.frames.rend(), [](const PathFrame& one) {
    return one.origin == Origin::own || one.origin == Origin::vendor;
  });
  return frame != path.frames.rend() && frame->origin == Origin::vendor;
}

void set_times(const Sums& sums, size_t rank, double blocks, CpuCause& cause) {
  cause.ns = static_cast<uint64_t>(sums[rank] / blocks);
  cause.others_ns = static_cast<uint64_t>(median_of_others(sums, rank) / blocks);
}

// Limits the cause to the innermost function that holds the excess: a function of the program, if there is one.
void name_function(std::vector<SampledPath> paths, Sums caller, size_t rank, double blocks, CpuCause& cause) {
  const auto less = [rank](const auto& a, const auto& b) { return excess(a.second, rank) < excess(b.second, rank); };
  bool is_own = false;
  for (size_t depth = 0;; ++depth) {
    auto calls = sums_at(paths, depth, caller.size(), &PathFrame::name);
    const auto callee = std::max_element(calls.begin(), calls.end(), less);
    if (callee == calls.end() || excess(callee->second, rank) < kLeastOfCaller * excess(caller, rank)) {
      return;
    }
    std::erase_if(paths, [&](const SampledPath& path) {
      return depth >= path.frames.size() || path.frames[depth].name != callee->first;
    });
    const Origin origin = paths.back().frames[depth].origin;
    if (origin == Origin::own || !is_own) {
      is_own = origin == Origin::own;
      cause.function = callee->first;
      set_times(callee->second, rank, blocks, cause);
      const auto locations = sums_at(paths, depth, caller.size(), &PathFrame::location);
      cause.location = std::max_element(locations.begin(), locations.end(), less)->first;
    }
    caller = std::move(callee->second);
  }
}

}  // namespace

std::vector<CpuCause> cpu_causes(Job& job, size_t rank, uint64_t first, uint64_t last) {
  const size_t ranks = job.ranks().size();
  // CPU time in the driver's library is apart: a rank that waits for others may wait there by polling, and would hide
  // what a late rank computes meanwhile.
  InState in_program{Sums(ranks), {}};
  InState in_driver{Sums(ranks), {}};
  std::map<std::string, InState> states;
  const auto sums = job.sums(first, last);
  size_t frames = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].empty()) {
      continue;
    }
    const JobPath& path = job.paths()[i];
    const bool is_blocked = path.activity == Activity::blocked;
    if (!is_blocked && path.activity != Activity::on_cpu) {
      continue;
    }
    InState* state = &in_program;
    if (is_blocked) {
      state = &states.try_emplace(without_brackets(job.kernel(path)), InState{Sums(ranks), {}}).first->second;
    }
    if (frames <= kMostFrames) {
      SampledPath sampled{&sums[i], job.call_path(path).shown()};
      frames += sampled.frames.size();
      std::erase_if(sampled.frames, [](const PathFrame& frame) {
        return frame.cls == FrameClass::note || frame.cls == FrameClass::mark;
      });
      state = !is_blocked && is_in_driver(sampled) ? &in_driver : state;
      state->paths.push_back(std::move(sampled));
    }
    add(sums[i], state->sums);
  }
  std::vector<CpuCause> causes;
  const auto blocks = static_cast<double>(last - first + 1);
  const auto add_cause = [&](const std::string& state, InState& of) {
    if (excess(of.sums, rank) <= 0) {
      return;
    }
    set_times(of.sums, rank, blocks, causes.emplace_back(CpuCause{.state = state}));
    if (frames <= kMostFrames) {
      name_function(std::move(of.paths), of.sums, rank, blocks, causes.back());
    }
  };
  add_cause("on CPU", in_program);
  add_cause("on CPU", in_driver);
  for (auto& [state, of] : states) {
    add_cause(state, of);
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const CpuCause& a, const CpuCause& b) { return a.ns - a.others_ns > b.ns - b.others_ns; });
  return causes;
}

}  // namespace gpuprof::analyze
