#include "analyze/subsets/subset_meta.h"

#include <algorithm>
#include <array>

#include "analyze/merge/recordings.h"
#include "analyze/merge/rotations.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"

namespace gpuprof::analyze {
namespace {

// Returns the options that limited recordings to a window of the program's run: "-p 4242 --duration 500 ms". Recordings
// of a merged profile that have equal options have one element. An incomplete rotated recording has one element, too.
std::vector<std::string> recording_windows(const std::multimap<std::string, std::string>& meta) {
  std::vector<std::string> windows;
  const auto [begin, end] = meta.equal_range("recording.window");
  for (auto window = begin; window != end; ++window) {
    windows.push_back(escaped(window->second));
  }
  // A recording that was cut short lacks the line `recording.window`, because the recorder writes it at the end.
  const auto [first, last] = meta.equal_range("attach.pid");
  for (auto process = first; process != last; ++process) {
    const std::string option = "-p " + escaped(process->second);
    if (std::none_of(windows.begin(), windows.end(), [&option](const std::string& window) {
          return window == option || window.starts_with(option + " ");
        })) {
      windows.push_back(option);
    }
  }
  for (std::string& text : rotations_of(meta).incomplete) {
    windows.push_back(std::move(text));
  }
  return windows;
}

}  // namespace

std::string part_text(const std::multimap<std::string, std::string>& meta) {
  constexpr size_t kMostNamed = 3;
  std::string text;
  for (const auto& [key, before] : {std::pair(kPartWhich, ""), {kFilterKey, "only what matches "}}) {
    const auto [begin, end] = meta.equal_range(std::string(key));
    size_t named = 0;
    for (auto value = begin; value != end && named < kMostNamed; ++value, ++named) {
      text.append(text.empty() ? "" : "; ").append(before).append(value->second);
    }
    const auto all = static_cast<size_t>(std::distance(begin, end));
    if (all > named) {
      text += "; and " + std::to_string(all - named) + " more";
    }
  }
  return text;
}

Subset subset_of(const std::multimap<std::string, std::string>& meta) {
  // A part of a part: a split before the last one left out work.
  const auto nested = meta.lower_bound(std::string(kPartPrefix) + std::string(kPartPrefix));
  if (nested != meta.end() && nested->first.starts_with(std::string(kPartPrefix) + std::string(kPartPrefix))) {
    return Subset::other;
  }
  if (const auto filter = meta.find(std::string(kFilterKey)); filter != meta.end()) {
    const std::string& text = filter->second;
    constexpr std::array<const char*, 5> kOthers{" --process ", " --rank ", " --device ", " --path ", " --kernel "};
    const bool has_others = std::any_of(kOthers.begin(), kOthers.end(),
                                        [&](const char* other) { return text.find(other) != std::string::npos; });
    return meta.count(std::string(kFilterKey)) > 1                                     ? Subset::other
           : text.starts_with("--not ")                                                ? Subset::slice
           : !has_others && (text.starts_with("--from ") || text.starts_with("--to ")) ? Subset::window
                                                                                       : Subset::other;
  }
  const auto part = meta.find(std::string(kPartWhich));
  return part == meta.end() ? Subset::none : part->second.ends_with("split by time") ? Subset::slice : Subset::other;
}

std::optional<TimeWindow> slice_window(const std::multimap<std::string, std::string>& meta) {
  const auto part = meta.find(std::string(kPartWhich));
  const bool is_one = meta.count(std::string(kPartWhich)) == 1 && meta.count(std::string(kFilterKey)) == 0;
  return is_one ? read_window_text(part->second) : std::nullopt;
}

std::string part_warning(const std::multimap<std::string, std::string>& meta) {
  const std::string part = part_text(meta);
  return part.empty() ? part : "the profile is a subset of another: " + escaped(part);
}

std::string recording_window(const std::multimap<std::string, std::string>& meta) {
  constexpr size_t kMostNamed = 3;
  const std::vector<std::string> windows = recording_windows(meta);
  std::string text;
  for (size_t i = 0; i < std::min(windows.size(), kMostNamed); ++i) {
    text.append(text.empty() ? "" : "; ").append(windows[i]);
  }
  return windows.size() <= kMostNamed ? text : text + "; and " + std::to_string(windows.size() - kMostNamed) + " more";
}

std::string recorded_part_text(const std::multimap<std::string, std::string>& meta) {
  const std::string window = recording_window(meta);
  if (window.empty()) {
    return "";
  }
  // merge() keeps equal options of several recordings once.
  const size_t windows = recording_windows(meta).size();
  const size_t all = named_recordings(meta);
  return (windows < all ? "in at least " + count_text(windows) + " of " + counted_text(all, "recording") + " " : "") +
         "only a part of the program's run: " + window;
}

bool has_chosen_windows(const std::multimap<std::string, std::string>& meta) {
  const std::vector<std::string> windows = recording_windows(meta);
  return std::all_of(windows.begin(), windows.end(), [](const std::string& window) {
    const bool is_chosen =
        window.starts_with("-p ") || window.starts_with("--delay ") || window.starts_with("--duration ");
    return is_chosen && window.find("--start-paused") == std::string::npos &&
           window.find("--last") == std::string::npos;
  });
}

void SubsetCollector::begin_input(std::string_view of) {
  windows_.clear();
  current_ = of.empty() ? nullptr : &groups_[std::string(of)];
  if (current_ != nullptr) {
    ++current_->inputs;
  }
}

bool SubsetCollector::take(std::string_view key, std::string_view value) {
  if (current_ == nullptr || !key.starts_with(kPartPrefix)) {
    return false;
  }
  if (key == kPartWhich) {
    current_->which.emplace(value);
  } else if (key == kPartCount) {
    current_->counts.emplace(value);
  } else if (key != kPartOf) {
    std::pair<std::string, std::string> line(key, value);
    if (std::find(current_->inherited.begin(), current_->inherited.end(), line) == current_->inherited.end()) {
      current_->inherited.push_back(std::move(line));
    }
  }
  return true;
}

bool SubsetCollector::is_new(const profile::Window& window) {
  if (current_ == nullptr) {
    return true;
  }
  const std::pair key(window.start_ns, window.end_ns);
  size_t& written = current_->windows[key];
  if (++windows_[key] <= written) {
    return false;
  }
  ++written;
  return true;
}

SubsetCollector::Lines SubsetCollector::rest() const {
  Lines lines;
  for (const auto& [of, group] : groups_) {
    const bool complete = group.complete();
    for (const auto& [key, value] : group.inherited) {
      // merge() has written META recording at the beginning, and the complete profile has its COVERAGE lines again.
      if (complete && (key == kPartRecording || key == "part" + std::string(kLacksWork))) {
        continue;
      }
      lines.emplace_back(complete ? key.substr(kPartPrefix.size()) : key, value);
    }
    if (complete) {
      continue;
    }
    lines.emplace_back(kPartOf, of);
    for (const auto& [key, values] : {std::pair(kPartWhich, &group.which), {kPartCount, &group.counts}}) {
      for (const std::string& value : *values) {
        lines.emplace_back(key, value);
      }
    }
  }
  return lines;
}

}  // namespace gpuprof::analyze
