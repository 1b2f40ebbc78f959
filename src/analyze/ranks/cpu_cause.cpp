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

// Returns the innermost function that holds the excess: a function of the program, if there is one.
void name_function(std::vector<SampledPath> paths, Sums caller, size_t rank, CpuCause& cause) {
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
      const auto locations = sums_at(paths, depth, caller.size(), &PathFrame::location);
      cause.location = std::max_element(locations.begin(), locations.end(), less)->first;
    }
    caller = std::move(callee->second);
  }
}

}  // namespace

std::vector<CpuCause> cpu_causes(Job& job, size_t rank, uint64_t first, uint64_t last) {
  const size_t ranks = job.ranks().size();
  Sums on_cpu(ranks);
  std::vector<SampledPath> sampled;
  std::map<std::string, Sums> states;
  const auto sums = job.sums(first, last);
  size_t frames = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].empty()) {
      continue;
    }
    const JobPath& path = job.paths()[i];
    if (path.activity == Activity::blocked) {
      add(sums[i], states.try_emplace(without_brackets(job.kernel(path)), ranks).first->second);
    } else if (path.activity == Activity::on_cpu) {
      add(sums[i], on_cpu);
      if (frames > kMostFrames) {
        continue;
      }
      sampled.push_back({&sums[i], job.call_path(path).shown()});
      frames += sampled.back().frames.size();
      std::erase_if(sampled.back().frames, [](const PathFrame& frame) {
        return frame.cls == FrameClass::note || frame.cls == FrameClass::mark;
      });
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
  add_cause("on CPU", on_cpu);
  if (!causes.empty() && frames <= kMostFrames) {
    name_function(std::move(sampled), on_cpu, rank, causes.front());
  }
  for (const auto& [state, of] : states) {
    add_cause(state, of);
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const CpuCause& a, const CpuCause& b) { return a.ns - a.others_ns > b.ns - b.others_ns; });
  return causes;
}

}  // namespace gpuprof::analyze
