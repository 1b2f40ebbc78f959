#include "analyze/merge/recordings.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "analyze/merge/rotations.h"
#include "analyze/subsets/subset_meta.h"
#include "base/sha256.h"
#include "base/text/hex.h"
#include "base/text/numbers.h"

namespace gpuprof::analyze {
namespace {

constexpr size_t kRecordingIdSize = 32;
constexpr size_t kMostIgnoredNamed = 10;

// Returns a hash of fixed length, because a META line may have many megabytes.
std::string digest(std::string_view text) {
  return hex_text(sha256(text)).substr(0, kRecordingIdSize);
}

// Returns an id for an older recording, which has no id in its META lines: a hash of its host and start time. Returns
// "" without a start time. The hash depends on the order of the lines: merge() writes the start before the host, so
// that an old merged profile does not get the id of its first input.
std::string id_from_start(std::span<const std::pair<std::string, std::string>> meta) {
  std::string start;
  bool has_time = false;
  for (const auto& [key, value] : meta) {
    if (key == "start_ns" || key == "start_unix_ns" || key == "host") {
      start.append(key).append("\n").append(value).append("\n");
      has_time = has_time || key == "start_unix_ns";
    }
  }
  return has_time ? digest(start) : std::string();
}

// Chooses for each recording one input that provides it.
class Choice {
 public:
  explicit Choice(std::span<const Recordings* const> inputs) : inputs_(inputs) {}

  enum class Outcome { used, ignored, conflict };
  struct Answer {
    Outcome outcome = Outcome::used;
    size_t other = 0;   // index of another input that has one of this input's recordings
    bool alone = true;  // false: several inputs together have this input's recordings
    bool twice = true;  // false: both inputs hold parts of a recording, which may be different parts
  };

  Answer take(size_t input) {
    const Recordings& its = *inputs_[input];
    std::optional<size_t> other;
    bool all_elsewhere = true;
    bool alone = true;
    bool twice = false;
    bool only_subsets = its.whole.empty() && !its.split.empty();
    for (const auto* ids : {&its.whole, &its.parts}) {
      for (const std::string& id : *ids) {
        const auto holder = holders_.find(id);
        if (holder == holders_.end()) {
          all_elsewhere = false;
          continue;
        }
        const Recordings& holders = *inputs_[holder->second];
        other = other.value_or(holder->second);
        alone = alone && holder->second == *other;
        twice = twice || ids == &its.whole || holders.whole.contains(id);
        all_elsewhere = all_elsewhere && holders.whole.contains(id);
        only_subsets = only_subsets && holders.split == its.split && !holders.whole.contains(id);
      }
    }
    if (other && all_elsewhere) {
      return {Outcome::ignored, *other, alone};
    }
    if (other && !only_subsets) {
      return {is_copy(input, *other) ? Outcome::ignored : Outcome::conflict, *other, true, twice};
    }
    if (!its.split.empty()) {
      const auto [known, is_new] = subsets_.try_emplace({its.split, its.subset}, input);
      if (!is_new) {
        return {is_copy(input, known->second) ? Outcome::ignored : Outcome::conflict, known->second, true, false};
      }
    }
    for (const auto* ids : {&its.whole, &its.parts}) {
      for (const std::string& id : *ids) {
        holders_.emplace(id, input);
      }
    }
    return {};
  }

 private:
  // True if both are the same subset of the same recordings.
  [[nodiscard]] bool is_copy(size_t a, size_t b) const {
    const Recordings& one = *inputs_[a];
    const Recordings& two = *inputs_[b];
    const bool is_described = !one.split.empty() || !one.filters.empty();
    return is_described && one.whole == two.whole && one.parts == two.parts && one.split == two.split &&
           one.subset == two.subset && one.filters == two.filters;
  }

  std::span<const Recordings* const> inputs_;
  // Maps a recording id to the index of the input that has the recording.
  std::map<std::string_view, size_t> holders_;
  // Maps (split, subset) to the index of the input.
  std::map<std::pair<std::string_view, std::string_view>, size_t> subsets_;
};

std::string ignored_text(const std::string& name, const std::string& other, bool alone) {
  return name + " is ignored: " + other + (alone ? " holds" : " and other inputs hold") +
         " the same work, which would count twice";
}

Error conflict(const std::string& name, const std::string& other, bool twice) {
  return {
      "cannot merge " + name + " and " + other + ": both hold " +
          (twice ? "work of one recording, which would count twice"
                 : "a part of one recording, and some of its work may be in both"),
      twice
          ? "name only one of them, or the profiles that `gpuprof record` wrote"
          : "name only one of them, all profiles of one `gpuprof split`, or the profiles that `gpuprof record` wrote"};
}

}  // namespace

Recordings recordings_of(std::span<const std::pair<std::string, std::string>> meta) {
  Recordings found;
  for (const auto& [key, value] : meta) {
    if (key == kPartOf) {
      found.split = digest(value);
    } else if (key == kPartWhich) {
      found.subset = digest(value);
    } else if (key == kFilterKey) {
      found.filters = digest(found.filters + value);
    } else if (key == kPartRecording && found.whole_if_joined.size() <= kMostRecordings) {
      found.whole_if_joined.insert(value);
    } else if ((key == kRecordingKey || key == kRecordingPartKey) && value.size() == kRecordingIdSize &&
               found.whole.size() + found.parts.size() <= kMostRecordings) {
      (key == kRecordingKey ? found.whole : found.parts).insert(value);
    }
  }
  if (found.whole.empty() && found.parts.empty()) {
    if (std::string id = id_from_start(meta); !id.empty()) {
      found.whole.insert(std::move(id));
    }
  }
  if (!found.filters.empty() || !found.split.empty()) {
    found.parts.merge(found.whole);
    found.whole.clear();
  }
  std::erase_if(found.whole_if_joined, [&](const std::string& id) { return !found.parts.contains(id); });
  return found;
}

std::set<std::string> recording_ids(const std::multimap<std::string, std::string>& meta) {
  const std::vector<std::pair<std::string, std::string>> lines(meta.begin(), meta.end());
  Recordings found = recordings_of(lines);
  found.whole.merge(found.parts);
  return std::move(found.whole);
}

size_t named_recordings(const std::multimap<std::string, std::string>& meta) {
  const size_t ids = meta.count(std::string(kRecordingKey)) + meta.count(std::string(kRecordingPartKey));
  const Rotations rotated = rotations_of(meta);
  return ids - std::min(ids, rotated.files) + rotated.recordings;
}

std::string SeenRecordings::add(const std::set<std::string>& ids, const std::string& name) {
  std::string other;
  for (const std::string& id : ids) {
    const auto [known, is_new] = names_.try_emplace(id, name);
    if (!is_new && other.empty()) {
      other = known->second;
    }
  }
  return other;
}

Result<MergeChoice> choose_inputs(std::span<const std::string> names, std::span<const Recordings* const> inputs) {
  std::vector<size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), 0);
  std::optional<Error> first_error;
  // The first attempt prefers single recordings to merged profiles. It fails if a merged profile also has a recording
  // that no other input has. Then the second attempt prefers merged profiles.
  for (const bool small_first : {true, false}) {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const auto key = [&](const Recordings& one) {
        const size_t size = one.whole.size();
        return std::tuple(!one.parts.empty(), small_first ? size : kMostRecordings - size, UINT64_MAX - one.bytes);
      };
      return key(*inputs[a]) < key(*inputs[b]);
    });
    Choice choice(inputs);
    MergeChoice made{.used = std::vector<bool>(inputs.size()), .warnings = {}};
    std::optional<Error> error;
    size_t ignored = 0;
    for (const size_t i : order) {
      const auto answer = choice.take(i);
      if (answer.outcome == Choice::Outcome::conflict) {
        error = conflict(names[i], names[answer.other], answer.twice);
        break;
      }
      made.used[i] = answer.outcome == Choice::Outcome::used;
      if (!made.used[i] && ++ignored <= kMostIgnoredNamed) {
        made.warnings.push_back(ignored_text(names[i], names[answer.other], answer.alone));
      }
    }
    if (!error) {
      if (ignored > kMostIgnoredNamed) {
        const size_t more = ignored - kMostIgnoredNamed;
        made.warnings.push_back(counted_text(more, "more input").append(" ").append(is_or_are(more)) +
                                " ignored for the same reason");
      }
      return made;
    }
    first_error = first_error ? first_error : std::move(error);
  }
  return std::move(*first_error);
}

}  // namespace gpuprof::analyze
