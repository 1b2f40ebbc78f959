// Matches functions and call paths that have different names on the new side.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>

#include "base/hash.h"
#include "compare/pairs/line_matcher.h"
#include "compare/pairs/names.h"

namespace gpuprof::compare {
namespace {

struct PathGroup {
  std::vector<uint32_t> old_ones;
  std::vector<uint32_t> new_ones;
};

Candidate candidate(const LineMatcher& lines, uint32_t at) {
  Candidate candidate = lines.candidate(at, lines.sides(lines.paths()[at].costs));
  candidate.parents = {{0, candidate.count}};
  return candidate;
}

std::string key_of(std::string_view name, std::string_view file) {
  return std::to_string(name.size()).append(" ").append(name).append(file);
}

}  // namespace

Pairs match_functions_by_name(const LineMatcher& lines) {
  std::map<std::string, PathGroup> names;
  for (uint32_t line = 0; line < lines.functions().size(); ++line) {
    const FunctionLine& function = lines.functions()[line];
    const Sides sums = lines.sides(function.total);
    if (!function.note && sums.in_old() != sums.in_new()) {
      PathGroup& group = names[key_of(normalized_function(function.name), function.file)];
      (sums.in_old() ? group.old_ones : group.new_ones).push_back(line);
    }
  }
  Pairs pairs;
  for (const auto& [name, group] : names) {
    if (group.old_ones.size() == 1 && group.new_ones.size() == 1) {
      pairs.emplace_back(group.old_ones[0], group.new_ones[0]);
    }
  }
  return pairs;
}

Pairs match_paths(const LineMatcher& lines, const SharedFunctions& landmarks) {
  std::map<std::pair<uint32_t, uint32_t>, PathGroup> places;  // key: kernel and SharedFunctions::id()
  for (uint32_t at = 0; at < lines.paths().size(); ++at) {
    const LineMatcher::Path& path = lines.paths()[at];
    const Sides sums = lines.sides(path.costs);
    if (sums.in_old() != sums.in_new() && landmarks.placed(path.stack)) {
      PathGroup& group = places[{path.kernel, landmarks.id(path.stack)}];
      (sums.in_old() ? group.old_ones : group.new_ones).push_back(at);
    }
  }
  Pairs pairs;
  for (const auto& [place, group] : places) {
    if (group.old_ones.empty() || group.new_ones.empty()) {
      continue;
    }
    std::vector<Candidate> candidates;
    candidates.reserve(group.old_ones.size() + group.new_ones.size());
    std::vector<const Candidate*> sides[2];
    for (const auto* side : {&group.old_ones, &group.new_ones}) {
      for (const uint32_t at : *side) {
        candidates.push_back(candidate(lines, at));
        sides[side == &group.old_ones ? 0 : 1].push_back(&candidates.back());
      }
    }
    const Pairs found = pair_up(sides[0], sides[1]);
    pairs.insert(pairs.end(), found.begin(), found.end());
  }
  return pairs;
}

Pairs match_functions_by_position(const LineMatcher& lines, const Pairs& paths) {
  // Maps an old and a new function to the number of positions at which they are paired.
  std::unordered_map<uint64_t, uint32_t> votes;
  const auto only = [&lines](uint32_t function) { return lines.sides(lines.functions()[function].total); };
  for (const auto& [old_path, new_path] : paths) {
    const std::u32string& before = lines.stack(lines.paths()[old_path].stack);
    const std::u32string& after = lines.stack(lines.paths()[new_path].stack);
    for (size_t at = 0; before.size() == after.size() && at < before.size(); ++at) {
      if (before[at] != after[at] && only(before[at]).only_old() && only(after[at]).only_new() &&
          !lines.functions()[before[at]].note && !lines.functions()[after[at]].note) {
        ++votes[join_ids(before[at], after[at])];
      }
    }
  }
  // Elements: number of votes, old function, new function.
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> ranked;
  ranked.reserve(votes.size());
  for (const auto& [key, count] : votes) {
    ranked.emplace_back(count, static_cast<uint32_t>(key >> 32U), static_cast<uint32_t>(key));
  }
  std::sort(ranked.begin(), ranked.end(), std::greater<>());
  std::vector<bool> taken(lines.functions().size(), false);
  Pairs pairs;
  for (const auto& [count, old_function, new_function] : ranked) {
    if (!taken[old_function] && !taken[new_function]) {
      taken[old_function] = taken[new_function] = true;
      pairs.emplace_back(old_function, new_function);
    }
  }
  return pairs;
}

}  // namespace gpuprof::compare
