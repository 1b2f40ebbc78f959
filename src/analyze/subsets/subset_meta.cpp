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
std::vector<std::string> recording_windows(const Meta& meta) {
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

// Returns the options that limited recordings to a part of the work: "--nvtx-range step".
std::vector<std::string> limits_of(const Meta& meta, const char* key, const std::string& option) {
  std::vector<std::string> limits;
  const auto [begin, end] = meta.equal_range(key);
  for (auto limit = begin; limit != end; ++limit) {
    limits.push_back(option + " " + escaped(limit->second));
  }
  return limits;
}

std::vector<std::string> recorded_ranges(const Meta& meta) {
  return limits_of(meta, "nvtx_range", "--nvtx-range");
}

std::vector<std::string> chosen_backends(const Meta& meta) {
  return limits_of(meta, "recording.backends", "--backend");
}

// Returns the processes into which gpuprof injected its library late: "process 42 without its start".
std::vector<std::string> late_processes(const Meta& meta) {
  constexpr std::string_view kPrefix = "process.";
  constexpr std::string_view kSuffix = ".note.attached";
  std::vector<std::string> processes;
  for (auto line = meta.lower_bound(std::string(kPrefix)); line != meta.end() && line->first.starts_with(kPrefix);
       ++line) {
    const std::string_view key = line->first;
    if (key.ends_with(kSuffix) && key.size() > kPrefix.size() + kSuffix.size()) {
      const size_t pid = key.size() - kPrefix.size() - kSuffix.size();
      processes.push_back("process " + escaped(key.substr(kPrefix.size(), pid)) + " without its start");
    }
  }
  return processes;
}

std::string some_of(const std::vector<std::string>& limits) {
  constexpr size_t kMostNamed = 3;
  std::string text;
  for (size_t i = 0; i < std::min(limits.size(), kMostNamed); ++i) {
    text.append(text.empty() ? "" : "; ").append(limits[i]);
  }
  return limits.size() <= kMostNamed ? text : text + "; and " + std::to_string(limits.size() - kMostNamed) + " more";
}

// Returns the time of a Subset::slice, or nullopt if it is not a single interval.
std::optional<TimeWindow> slice_window(const Meta& meta) {
  const auto part = meta.find(std::string(kPartWhich));
  const bool is_one = meta.count(std::string(kPartWhich)) == 1 && meta.count(std::string(kFilterKey)) == 0;
  return is_one ? read_window_text(part->second) : std::nullopt;
}

}  // namespace

std::string part_text(const Meta& meta) {
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

Subset subset_of(const Meta& meta) {
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

std::optional<TimeWindow> time_in_slices(const Meta& meta, const std::optional<TimeWindow>& chosen) {
  const TimeWindow time = chosen.value_or(TimeWindow{});
  if (subset_of(meta) != Subset::slice) {
    return time;
  }
  const auto slice = slice_window(meta);
  return slice ? std::optional(TimeWindow{std::max(time.from_ns, slice->from_ns), std::min(time.to_ns, slice->to_ns)})
               : std::nullopt;
}

uint64_t slice_shift_ns(const Meta& meta) {
  const auto shift = meta.find(std::string(kSliceShiftKey));
  return shift == meta.end() ? 0 : whole_number(shift->second).value_or(0);
}

std::string slice_shift_text(const Meta& meta) {
  const uint64_t shift_ns = slice_shift_ns(meta);
  return shift_ns == 0 ? "" : "moved by up to " + duration_text(shift_ns) + " onto one clock";
}

std::string part_warning(const Meta& meta) {
  const std::string part = part_text(meta);
  const std::string shift = has_all_work(subset_of(meta)) ? slice_shift_text(meta) : "";
  return part.empty() ? part
                      : "the profile is a subset of another: " + escaped(part) +
                            (shift.empty() ? "" : "; its time slices were " + shift);
}

std::string recording_window(const Meta& meta) {
  return some_of(recording_windows(meta));
}

std::string recorded_range(const Meta& meta) {
  return some_of(recorded_ranges(meta));
}

std::string recorded_backends(const Meta& meta) {
  return some_of(chosen_backends(meta));
}

std::string recorded_part_text(const Meta& meta) {
  std::vector<std::string> limits = recording_windows(meta);
  // merge() keeps equal options of several recordings once. A recording may have limits of several kinds.
  size_t recordings = limits.size();
  for (const std::vector<std::string>& more : {recorded_ranges(meta), chosen_backends(meta), late_processes(meta)}) {
    limits.insert(limits.end(), more.begin(), more.end());
  }
  if (limits.empty()) {
    return "";
  }
  recordings = std::max({recordings, recorded_ranges(meta).size(), chosen_backends(meta).size(), size_t{1}});
  const size_t all = named_recordings(meta);
  return (recordings < all ? "in at least " + count_text(recordings) + " of " + counted_text(all, "recording") + " "
                           : "") +
         "only a part of the program's run: " + some_of(limits);
}

RunPart part_of_run(const Meta& meta) {
  const std::vector<std::string> windows = recording_windows(meta);
  if (!part_text(meta).empty() || !recorded_ranges(meta).empty() || !late_processes(meta).empty()) {
    return RunPart::other;
  }
  const bool is_chosen = std::all_of(windows.begin(), windows.end(), [](const std::string& window) {
    const bool names_time =
        window.starts_with("-p ") || window.starts_with("--delay ") || window.starts_with("--duration ");
    return names_time && window.find("--start-paused") == std::string::npos &&
           window.find("--last") == std::string::npos && window.find("--wait") == std::string::npos;
  });
  const bool is_complete = windows.empty() && chosen_backends(meta).empty();
  return is_complete ? RunPart::complete : is_chosen ? RunPart::chosen : RunPart::other;
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

bool SubsetCollector::is_new(const profile::Window& window, std::string_view recording) {
  if (current_ == nullptr) {
    return true;
  }
  const std::tuple key(std::string(recording), window.start_ns, window.end_ns);
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
