// Matches kernels that have a different name on the new side.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>

#include "base/hash.h"
#include "compare/pairs/line_matcher.h"
#include "compare/pairs/names.h"

namespace gpuprof::compare {
namespace {

struct KernelGroup {
  std::vector<const Candidate*> old_ones;
  std::vector<const Candidate*> new_ones;
};

// True for names that gpuprof makes itself, and which are never renamed: "[copy HtoD]", "[cudaLaunchKernel launches]".
bool is_operation(const std::string& name) {
  return name.starts_with('[');
}

// True: the normalized names are already known to be equal. Otherwise the callers must be evidence for a rename.
enum class SameName : bool { no, yes };

// Returns the normalized name without namespaces.
std::string stem_of(const std::string& kernel) {
  const std::string name = normalized_kernel(kernel);
  const size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

// The kernels that only one side has, with their callers.
class Candidates {
 public:
  Candidates(const LineMatcher& lines, const SharedFunctions& landmarks, SameName same_name) {
    const bool by_callers = same_name == SameName::no;
    std::vector<uint32_t> at(lines.kernels().size(), UINT32_MAX);
    for (uint32_t line = 0; line < lines.kernels().size(); ++line) {
      const Sides sums = lines.sides(lines.kernels()[line].costs);
      if (is_operation(lines.kernels()[line].name) || sums.in_old() == sums.in_new()) {
        continue;
      }
      at[line] = static_cast<uint32_t>(all_.size());
      Candidate& kernel = all_.emplace_back(lines.candidate(line, sums));
      kernel.name = by_callers ? stem_of(lines.kernels()[line].name) : "";
      old_.push_back(sums.in_old());
    }
    std::vector<double> same_code(all_.size(), 0);
    for (const LineMatcher::Path& path : lines.paths()) {
      if (at[path.kernel] != UINT32_MAX) {
        Candidate& kernel = all_[at[path.kernel]];
        const double launches = lines.launches(lines.sides(path.costs));
        kernel.parents.push_back({landmarks.id(path.stack), launches});
        kernel.placed =
            kernel.placed && landmarks.placed(path.stack) && (!by_callers || landmarks.own_code(path.stack));
        same_code[at[path.kernel]] += landmarks.same_code(path.stack) ? launches : 0;
      }
    }
    for (size_t i = 0; i < all_.size(); ++i) {
      all_[i].same_code = !by_callers || 2 * same_code[i] >= all_[i].count;
      add_up(all_[i].parents);
    }
  }

  // Groups the kernels by key. Skips kernels that are already paired (`taken`).
  template <typename Key>
  void group(const std::vector<bool>& taken, Key key, std::map<uint64_t, KernelGroup>& groups) const {
    for (size_t at = 0; at < all_.size(); ++at) {
      if (!taken[all_[at].line]) {
        KernelGroup& group = groups[key(all_[at])];
        (old_[at] ? group.old_ones : group.new_ones).push_back(&all_[at]);
      }
    }
  }

 private:
  static void add_up(std::vector<Parent>& parents) {
    std::sort(parents.begin(), parents.end(), [](const Parent& a, const Parent& b) { return a.id < b.id; });
    size_t kept = 0;
    for (size_t at = 1; at < parents.size(); ++at) {
      if (parents[at].id == parents[kept].id) {
        parents[kept].count += parents[at].count;
      } else {
        parents[++kept] = parents[at];
      }
    }
    parents.resize(parents.empty() ? 0 : kept + 1);
  }

  std::vector<Candidate> all_;
  std::vector<bool> old_;
};

uint64_t mix(uint64_t hash, uint64_t value) {
  return fold_multiply(hash ^ value, kHashMultiplier) + 1;
}

uint64_t key_of_launches(const Candidate& kernel) {
  uint64_t hash = kernel.parents.size();
  for (const Parent& parent : kernel.parents) {
    hash = mix(mix(hash, parent.id), static_cast<uint64_t>(std::llround(parent.count)));
  }
  return hash;
}

uint64_t key_of_parents(const Candidate& kernel) {
  uint64_t hash = kernel.parents.size();
  for (const Parent& parent : kernel.parents) {
    hash = mix(hash, parent.id);
  }
  return hash;
}

uint64_t key_of_main_parent(const Candidate& kernel) {
  const auto most = std::max_element(kernel.parents.begin(), kernel.parents.end(),
                                     [](const Parent& a, const Parent& b) { return a.count < b.count; });
  return most == kernel.parents.end() ? UINT64_MAX : most->id;
}

// Pairs kernels that have equal keys, in one step for each key function. The first key must be the strictest.
template <typename... Keys>
Pairs pair_in_steps(const LineMatcher& lines, const Candidates& candidates, Keys... keys) {
  Pairs all;
  std::vector<bool> taken(lines.kernels().size(), false);
  const auto step = [&](const auto& key) {
    std::map<uint64_t, KernelGroup> groups;
    candidates.group(taken, key, groups);
    for (const auto& [unused, group] : groups) {
      if (group.old_ones.empty() || group.new_ones.empty()) {
        continue;
      }
      for (const auto& pair : pair_up(group.old_ones, group.new_ones)) {
        taken[pair.first] = true;
        taken[pair.second] = true;
        all.push_back(pair);
      }
    }
  };
  (step(keys), ...);
  return all;
}

}  // namespace

Pairs match_kernels_by_name(const LineMatcher& lines, const SharedFunctions& landmarks) {
  std::unordered_map<std::string, uint32_t> ids;
  std::vector<uint32_t> name_of(lines.kernels().size(), 0);
  // For each normalized name: its last line in the old and in the new profile, and the number of its lines in each.
  std::vector<std::pair<Pairs::value_type, std::pair<uint32_t, uint32_t>>> names;
  for (uint32_t line = 0; line < lines.kernels().size(); ++line) {
    const KernelLine& kernel = lines.kernels()[line];
    const Sides sums = lines.sides(kernel.costs);
    if (is_operation(kernel.name) || sums.in_old() == sums.in_new()) {
      continue;
    }
    const auto [known, is_new] = ids.try_emplace(normalized_kernel(kernel.name), static_cast<uint32_t>(names.size()));
    if (is_new) {
      names.emplace_back();
    }
    name_of[line] = known->second;
    auto& [pair, counts] = names[known->second];
    (sums.in_old() ? pair.first : pair.second) = line;
    (sums.in_old() ? counts.first : counts.second) += 1;
  }
  // If each side has one kernel with the name, the two match. Otherwise compare the kernels' callers and times.
  Pairs pairs;
  for (const auto& [pair, counts] : names) {
    if (counts == std::pair<uint32_t, uint32_t>(1, 1)) {
      pairs.push_back(pair);
    }
  }
  const Candidates candidates(lines, landmarks, SameName::yes);
  const auto with_name = [&](const auto& key) {
    return [&name_of, key](const Candidate& kernel) { return mix(key(kernel), name_of[kernel.line]); };
  };
  for (const auto& pair : pair_in_steps(lines, candidates, with_name(key_of_launches), with_name(key_of_parents),
                                        with_name([](const Candidate&) { return uint64_t{0}; }))) {
    if (names[name_of[pair.first]].second != std::pair<uint32_t, uint32_t>(1, 1)) {
      pairs.push_back(pair);
    }
  }
  return pairs;
}

Pairs match_kernels_by_callers(const LineMatcher& lines, const SharedFunctions& landmarks) {
  return pair_in_steps(lines, Candidates(lines, landmarks, SameName::no), key_of_launches, key_of_parents,
                       key_of_main_parent);
}

}  // namespace gpuprof::compare
