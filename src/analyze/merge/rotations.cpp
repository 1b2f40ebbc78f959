#include "analyze/merge/rotations.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "analyze/rows/time_window.h"
#include "base/text/numbers.h"

namespace gpuprof::analyze {
namespace {

constexpr size_t kMostTimes = 4;  // more times of one recording are not named

// The times of the files of one recording, since its start.
struct RotatedFiles {
  std::vector<std::pair<uint64_t, uint64_t>> times;  // UINT64_MAX: the end of the recording, or of what is left of it
  bool has_end = false;
};

// Adds the file that a META line describes. The line is from a profile that may be forged.
void add_file(std::string_view line, std::map<std::string_view, RotatedFiles>& recordings) {
  const size_t from = std::min(line.find(' '), line.size());
  const size_t to = std::min(line.find(' ', from + 1), line.size());
  const auto from_ns = whole_number(line.substr(std::min(from + 1, to), to - std::min(from + 1, to)));
  const std::string_view end = line.substr(std::min(to + 1, line.size()));
  if (from_ns) {
    RotatedFiles& files = recordings[line.substr(0, from)];
    files.times.emplace_back(*from_ns, whole_number(end).value_or(UINT64_MAX));
    files.has_end = files.has_end || end == "end";
  }
}

std::string times_text(const std::vector<TimeWindow>& times) {
  std::string text;
  for (size_t i = 0; i < std::min(times.size(), kMostTimes); ++i) {
    text.append(text.empty() ? "" : ", ").append(window_text(times[i]));
  }
  return times.size() <= kMostTimes ? text
                                    : text + ", and " + std::to_string(times.size() - kMostTimes) + " more times";
}

// Returns nullopt if the files hold the complete recording.
std::optional<std::string> incomplete_text(RotatedFiles files) {
  std::sort(files.times.begin(), files.times.end());
  std::vector<TimeWindow> held;
  std::vector<TimeWindow> missing;
  uint64_t reached_ns = 0;
  for (const auto& [from_ns, to_ns] : files.times) {
    if (from_ns > reached_ns) {
      missing.push_back({reached_ns, from_ns});
    }
    if (held.empty() || from_ns > reached_ns) {
      held.push_back({from_ns, to_ns});
    }
    reached_ns = std::max(reached_ns, to_ns);
    held.back().to_ns = reached_ns;
  }
  if (!files.has_end && reached_ns != UINT64_MAX) {
    missing.push_back({reached_ns, UINT64_MAX});
  }
  if (missing.empty()) {
    return std::nullopt;
  }
  return "--rotate, " + times_text(held) + " (missing: " + times_text(missing) + ")";
}

}  // namespace

Rotations rotations_of(const std::multimap<std::string, std::string>& meta) {
  std::map<std::string_view, RotatedFiles> recordings;
  const auto [begin, end] = meta.equal_range("recording.rotation");
  for (auto line = begin; line != end; ++line) {
    add_file(line->second, recordings);
  }
  Rotations found;
  for (auto& [id, files] : recordings) {
    ++found.recordings;
    found.files += files.times.size();
    if (auto text = incomplete_text(std::move(files))) {
      found.incomplete.push_back(std::move(*text));
    }
  }
  return found;
}

}  // namespace gpuprof::analyze
