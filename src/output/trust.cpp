#include "output/trust.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "analyze/subsets/subset_meta.h"
#include "base/saturating_add.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using analyze::ProfileInfo;
using profile::CoverageCount;

bool is_clean(const ProfileInfo& info) {
  const bool lost =
      std::any_of(info.losses.begin(), info.losses.end(), [](const auto& loss) { return loss.second > 0; });
  for (const auto what :
       {CoverageCount::unsampled, CoverageCount::without_record, CoverageCount::without_stack,
        CoverageCount::without_launch, CoverageCount::before_attach, CoverageCount::samples_without_launch}) {
    if (info.counted(what) > 0) {
      return false;
    }
  }
  return info.complete && !lost && info.failures.empty() && info.unsampled == 0 && info.estimated == 0;
}

// Appends the part to the line: ", 950 matched with GPU work (95.00%)". Appends nothing if `part` is 0, and no comma
// after a ':'.
void add_part(uint64_t part, uint64_t whole, std::string_view words, std::string& line,
              std::string (*percent)(uint64_t, uint64_t) = percent_text_up) {
  if (part > 0) {
    line.append(line.ends_with(':') ? " " : ", ").append(count_text(part)).append(" ").append(words);
    line.append(" (").append(percent(part, whole)).append(")");
  }
}

// As add_part(), for a part that the line of the coverage may also show: rounds down, as the coverage does.
void add_covered(uint64_t part, uint64_t whole, std::string_view words, std::string& line) {
  add_part(part, whole, words, line, percent_text_down);
}

std::string launch_line(const ProfileInfo& info) {
  const uint64_t launches = info.counted(CoverageCount::launches);
  std::string line = counted_text(launches, "launch") + in_windows(info) + ":";
  add_covered(info.counted(CoverageCount::matched), launches, "matched with GPU work", line);
  add_part(info.counted(CoverageCount::captured), launches, "captured into graphs", line);
  add_part(info.counted(CoverageCount::failed), launches, "refused by the vendor's library", line);
  add_part(info.counted(CoverageCount::without_record), launches, "without GPU work", line);
  add_part(info.counted(CoverageCount::unsampled), launches, "left without a stack by --max-overhead", line);
  return line;
}

std::string record_line(const ProfileInfo& info) {
  std::string line = counted_text(info.gpu_records, "GPU record") + ":";
  add_covered(info.with_stack, info.gpu_records, "with a CPU stack", line);
  add_part(info.unsampled, info.gpu_records, "left without one by --max-overhead", line);
  add_part(info.represented_records(CoverageCount::without_stack), info.gpu_records, "whose stack is missing", line);
  add_part(info.represented_records(CoverageCount::without_launch), info.gpu_records, "without a known launch", line);
  add_part(info.represented_records(CoverageCount::before_attach), info.gpu_records,
           "launched before gpuprof was attached", line);
  return line;
}

// Leaves out idle time in recorded calls, which needs no samples.
std::string idle_line(const ProfileInfo& info) {
  const uint64_t all = info.idle_explained_ns + info.idle_not_sampled_ns;
  if (all == 0) {
    return {};
  }
  std::string line = "idle time: " + percent_text_up(info.idle_not_sampled_ns, all) + " of " + duration_text(all) +
                     " outside of recorded calls is not explained by CPU samples";
  // The numbers are of the whole recording. A file of --last, or a part of --rotate, has less.
  if (const uint64_t polled = info.sum_of_meta("idle.polled_ns"); polled != 0 && polled <= all) {
    line.append(", ").append(percent_text_up(polled, all)).append(" is estimated from ");
    line += counted_text(info.sum_of_meta("idle.polls"), "poll") + " of threads in short gaps";
  }
  if (const uint64_t skipped = info.sum_of_meta("idle.skipped_polls"); skipped != 0) {
    line += ", " + counted_text(skipped, "round") + " of polls left out";
  }
  return line;
}

std::string sample_line(const ProfileInfo& info) {
  std::string line =
      counted_text(info.samples, "sample") + (info.is_estimate() ? in_windows(info) : " of GPU code") + ":";
  add_part(info.estimated, info.samples, "attributed by estimate", line);
  add_part(info.counted(CoverageCount::samples_without_launch), info.samples, "without a known launch", line);
  if (const uint64_t foreign = info.counted(CoverageCount::samples_foreign); foreign > 0) {
    line += "; " + count_text(foreign) + " more in code that does not belong to the program";
  }
  return line;
}

std::string estimate_line(const ProfileInfo& info) {
  if (!info.is_estimate()) {
    return {};
  }
  const uint64_t recorded = info.counted(CoverageCount::launches);
  const uint64_t between = info.counted(CoverageCount::between_windows);
  std::string line = (info.only_in_windows ? "the " : "all ") + info.estimate_text();
  if (between > 0 && !info.is_partly_estimate()) {
    line.append(info.only_in_windows ? ", " : ", with ");
    line += count_text(recorded) + " of " + counted_text(saturating_add(recorded, between), "launch");
  }
  line.append(info.samples > 0 ? ", but samples are only those in windows" : "");
  return line;
}

std::string loss_line(const ProfileInfo& info) {
  const std::string text = loss_text(info);
  return text.empty() ? text : "lost" + in_windows(info) + ": " + text;
}

std::string failure_line(const ProfileInfo& info) {
  constexpr size_t kMost = 5;
  std::vector<std::pair<uint64_t, std::string_view>> most;
  uint64_t all = 0;
  for (const auto& [call, count] : info.failures) {
    most.emplace_back(count, call);
    all += count;
  }
  std::sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  most.resize(std::min(most.size(), kMost));
  std::string text;
  for (const auto& [count, call] : most) {
    text.append(text.empty() ? counted_text(all, "call") + " failed: " : ", ");
    append_escaped(shown_ends(call), {}, text);
    text.append(" ").append(count_text(count));
  }
  return info.failures.size() <= kMost ? text : text + ", ...";
}

std::string outside_line(const ProfileInfo& info) {
  const uint64_t outside = info.counted(CoverageCount::outside_range);
  return outside == 0 ? std::string()
                      : counted_text(outside, "GPU record")
                                .append(in_windows(info))
                                .append(" outside of --nvtx-range ")
                                .append(is_or_are(outside)) +
                            " left out";
}

std::string coverage_line(const ProfileInfo& info) {
  const profile::WorkCoverage& covered = info.covered;
  if (!covered.any()) {
    return "no GPU work was recorded, so coverage is 0%";
  }
  std::string line = covered.percent_text() +
                     " of the GPU work is explained by a CPU stack: " + count_text(covered.with_stack) + " of " +
                     count_text(covered.all());
  return covered.lost == 0
             ? line
             : line + ", of which " + count_text(covered.lost) + (covered.lost == 1 ? " was lost" : " were lost");
}

// Returns a number from the META lines with this key, such as "45". If a merged profile has different numbers, returns
// their range: "45 to 52". Returns "" if the key is missing.
std::string range_of(const ProfileInfo& info, const std::string& key) {
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  const auto [begin, end] = info.meta.equal_range(key);
  for (auto value = begin; value != end; ++value) {
    if (const auto number = whole_number(value->second)) {
      least = std::min(least, *number);
      most = std::max(most, *number);
    }
  }
  if (least > most) {
    return {};
  }
  return least == most ? count_text(most) : count_text(least) + " to " + count_text(most);
}

std::string depth_clause(const ProfileInfo& info, const std::string& kind, const char* name) {
  const std::string median = range_of(info, "stack_depth." + kind + "_median");
  const std::string deepest = range_of(info, "stack_depth." + kind + "_max");
  return median.empty() || deepest.empty() ? std::string()
                                           : median + " " + name + " frames in the median and " + deepest + " at most";
}

std::string engines(const ProfileInfo& info) {
  std::string names;
  const auto [begin, end] = info.meta.equal_range("stack_engine");
  for (auto value = begin; value != end; ++value) {
    names.append(names.empty() ? " (" : " and ");
    append_escaped(value->second, {}, names);
  }
  return names.empty() ? names : names + ")";
}

const char* with_a_stack(const ProfileInfo& info) {
  return info.is_estimate() ? " with a stack (some are just before windows)" : "";
}

// The sum saturates, because the counts of a hostile profile may overflow.
uint64_t launches_with_stack(const ProfileInfo& info) {
  uint64_t sum = 0;
  return __builtin_add_overflow(info.counted(CoverageCount::stack_whole), info.counted(CoverageCount::stack_truncated),
                                &sum)
             ? UINT64_MAX
             : sum;
}

}  // namespace

std::string in_windows(const ProfileInfo& info) {
  if (!info.is_estimate()) {
    return {};
  }
  return info.is_partly_estimate() ? " (some only in windows)" : " in windows";
}

std::string loss_text(const ProfileInfo& info) {
  // More reasons than gpuprof writes; a hostile profile may have any number of them.
  constexpr size_t kMostReasons = 32;
  std::string text;
  size_t reasons = 0;
  for (const auto& [reason, count] : info.losses) {
    if (count > 0 && ++reasons <= kMostReasons) {
      text.append(text.empty() ? "" : ", ");
      append_escaped(shown_ends(reason), {}, text);
      text.append(" ").append(count_text(count));
    }
  }
  return reasons <= kMostReasons ? text : text + ", " + counted_text(reasons - kMostReasons, "more reason");
}

std::vector<std::string> gap_lines(const ProfileInfo& info) {
  std::vector<std::string> lines;
  const std::string recorded = analyze::recorded_part_text(info.meta);
  for (std::string line :
       {estimate_line(info), recorded.empty() ? "" : "recorded " + shown_ends(recorded),
        analyze::part_warning(info.meta),
        info.complete ? "" : std::string("the profile is cut short: it has no END record"), loss_line(info)}) {
    if (!line.empty()) {
      lines.push_back(std::move(line));
    }
  }
  if (info.untimed > 0) {
    lines.push_back(counted_text(info.untimed, "launch") + (info.untimed == 1 ? " has" : " have") +
                    " no GPU times, only a count");
  }
  if (info.skipped_bad > 0) {
    lines.push_back("bad lines skipped: " + std::to_string(info.skipped_bad));
  }
  if (info.skipped_unknown > 0) {
    lines.push_back("records of unknown kinds skipped: " + std::to_string(info.skipped_unknown));
  }
  lines.insert(lines.end(), info.warnings.begin(), info.warnings.end());
  return lines;
}

std::vector<std::string> notice_lines(const ProfileInfo& info) {
  std::vector<std::string> lines = gap_lines(info);
  if (std::string failed = failure_line(info); !failed.empty()) {
    lines.push_back(std::move(failed));
  }
  if (auto trust = trust_lines(info); !trust.empty() && !info.covered.is_full()) {
    lines.push_back(std::move(trust.back()));
  }
  return lines;
}

std::string notice_text(const ProfileInfo& info) {
  std::string text;
  for (const std::string& line : notice_lines(info)) {
    text.append(text.empty() ? "" : "; ").append(line);
  }
  return text;
}

std::vector<std::string> note_lines(const ProfileInfo& info) {
  constexpr size_t kMostNotes = 16;  // a hostile profile may have any number of them
  std::set<std::string> notes;
  size_t more = 0;
  for (const auto& [key, value] : info.meta) {
    if (!key.starts_with("note.") && (!key.starts_with("process.") || key.find(".note.") == std::string::npos)) {
      continue;
    }
    std::string note = "note: " + shown_name(shown_ends(value));
    if (notes.size() < kMostNotes) {
      notes.insert(std::move(note));
    } else {
      more += notes.contains(note) ? 0U : 1U;
    }
  }
  std::vector<std::string> lines(notes.begin(), notes.end());
  if (more > 0) {
    lines.push_back(counted_text(more, "more note"));
  }
  return lines;
}

std::vector<std::string> stack_lines(const ProfileInfo& info) {
  std::vector<std::string> lines;
  if (const uint64_t all = launches_with_stack(info); all > 0) {
    const uint64_t whole = info.counted(CoverageCount::stack_whole);
    std::string line = "stacks" + engines(info) + ": " + percent_text_down(whole, all) + " of " +
                       counted_text(all, "launch") + with_a_stack(info) +
                       (all == 1 ? " reaches the start of its thread" : " reach the start of their thread");
    add_part(info.counted(CoverageCount::stack_truncated), all, "are truncated", line);
    add_part(info.counted(CoverageCount::stack_no_python), all, "are of threads without Python frames", line);
    lines.push_back(std::move(line));
  }
  const std::string native = depth_clause(info, "native", "native");
  const std::string python = depth_clause(info, "python", "Python");
  if (!native.empty() || !python.empty()) {
    lines.push_back("depth: " + native + (native.empty() || python.empty() ? "" : ", ") + python);
  }
  return lines;
}

std::string truncated_percent(const ProfileInfo& info) {
  const uint64_t truncated = info.counted(CoverageCount::stack_truncated);
  return truncated == 0 ? std::string() : percent_text_up(truncated, launches_with_stack(info));
}

std::string truncated_text(const ProfileInfo& info) {
  const uint64_t truncated = info.counted(CoverageCount::stack_truncated);
  return truncated == 0
             ? std::string()
             : count_text(truncated) + " of " + counted_text(launches_with_stack(info), "launch") + with_a_stack(info) +
                   " (" + truncated_percent(info) + ")" + (truncated == 1 ? " has" : " have") + " a truncated stack";
}

std::string dropped_samples_text(const ProfileInfo& info) {
  const uint64_t dropped = info.dropped_samples();
  if (info.samples == 0 || info.samples_are_reliable()) {
    return {};
  }
  return percent_text_up(dropped, saturating_add(info.samples, dropped)) +
         " of the samples were dropped, too many to say what kernels waited for";
}

std::string no_samples_text(const ProfileInfo& info) {
  std::set<std::string> reasons;
  for (const auto& [key, value] : info.meta) {
    if (key.ends_with(".sampling.off") || key.ends_with(".drm.stalls.refused")) {
      reasons.insert(shown_name(shown_ends(value)));
    }
  }
  if (info.samples > 0 || (reasons.empty() && info.meta.count("recording.samples") == 0)) {
    return {};
  }
  std::string text = "no samples of GPU code were taken";
  for (const std::string& reason : reasons) {
    text.append(reason == *reasons.begin() ? ": " : "; ").append(reason);
  }
  return text;
}

std::string without_lines_text(uint64_t without_lines, uint64_t samples, uint64_t in_zebins) {
  constexpr const char* kNvidia = "-lineinfo";
  constexpr const char* kIntel = "-gline-tables-only (icpx), or build kernels with the option -g (ocloc, Level Zero)";
  const std::string options = in_zebins == 0               ? kNvidia
                              : in_zebins == without_lines ? kIntel
                                                           : std::string(kNvidia) + " (nvcc) or " + kIntel;
  return "no line information in " + percent_text_up(without_lines, samples) + " of the samples: compile with " +
         options;
}

std::vector<std::string> trust_lines(const ProfileInfo& info, TrustLines which) {
  std::vector<std::string> lines;
  const bool all = which == TrustLines::all;
  if (info.coverage.empty()) {
    return lines;
  }
  if (std::string idle = all ? idle_line(info) : ""; !idle.empty()) {
    lines.push_back(std::move(idle));
  }
  if (is_clean(info)) {
    return lines;
  }
  const bool launches_missing = info.counted(CoverageCount::failed) > 0 ||
                                info.counted(CoverageCount::without_record) > 0 ||
                                info.counted(CoverageCount::unsampled) > 0;
  for (std::string line : {all || launches_missing ? launch_line(info) : "",
                           all || info.with_stack < info.gpu_records ? record_line(info) : "", sample_line(info),
                           failure_line(info), loss_line(info), outside_line(info)}) {
    if (!line.empty() && !line.ends_with(':')) {
      lines.push_back(std::move(line));
    }
  }
  if (all || !info.covered.is_full()) {
    lines.push_back(coverage_line(info));
  }
  return lines;
}

}  // namespace gpuprof::output
