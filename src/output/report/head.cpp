#include "output/report/head.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/subsets/subset_meta.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/facts.h"
#include "output/report/advice.h"
#include "output/text.h"
#include "output/trust.h"
#include "output/weight.h"

namespace gpuprof::output {
namespace {

using analyze::DeviceLine;
using analyze::ProfileInfo;
using analyze::ProfileKind;
using analyze::Summary;

// Returns how the target ended. If it was killed, the profile contains only what it did until then.
std::string ending(const ProfileInfo& info) {
  std::string text;
  const auto [begin, end] = info.meta.equal_range("target.exit_status");
  for (auto value = begin; value != end; ++value) {
    const bool is_number = value->second.find_first_not_of("0123456789") == std::string::npos;
    text.append(text.empty() ? "" : "; ").append(is_number ? "exit status " : "").append(shown_name(value->second));
  }
  return text;
}

void print_facts(const ProfileInfo& info, Page& page) {
  const std::string recorded = recorded_text(info);
  const std::string command = meta_text(info, "command");
  const std::string end = ending(info);
  for (const auto& [word, text] : {std::pair("command", &command), {"host", &recorded}, {"target", &end}}) {
    if (!text->empty()) {
      page.fact(word, *text);
    }
  }
}

void print_estimate(const ProfileInfo& info, Page& page) {
  if (const std::string text = info.estimate_text(); !text.empty()) {
    page.clauses("all " + text, "");
  }
}

// Prints that the recording covers only a window of the run, or that the profile is only a subset of a recording.
void print_part(const ProfileInfo& info, Page& page) {
  if (const std::string text = analyze::recorded_part_text(info.meta); !text.empty()) {
    page.long_fact("recorded", shown_ends(text));
  }
  if (const std::string part = analyze::part_text(info.meta); !part.empty()) {
    page.long_fact("part", shown_name(shown_ends(part)));
  }
  if (const std::string text = meta_text(info, std::string(analyze::kLeftOutKey)); !text.empty()) {
    page.long_fact("left out", "records without the fields that `filter` tested: " + text);
  }
}

// Prints the losses in one of the first four lines, so that other facts cannot push them off the first screen.
void print_losses(const ProfileInfo& info, Page& page) {
  std::string text = loss_text(info);
  if (const uint64_t launches = info.counted(profile::CoverageCount::without_record);
      launches > profile::lost_gpu_work(info.losses, 0)) {  // `record` says the same
    text.append(text.empty() ? "" : ", ").append("the GPU work of ").append(counted_text(launches, "launch"));
  }
  text.append(text.empty() ? "" : in_windows(info));
  if (!info.complete) {
    text.append(text.empty() ? "" : ", ").append("the end: the profile is cut short");
  }
  if (info.skipped_bad > 0) {
    text.append(text.empty() ? "" : ", ").append("bad lines ").append(count_text(info.skipped_bad));
  }
  if (!text.empty()) {
    page.clauses("lost     " + text, "");
  }
}

// Prints the time window, and which facts describe the whole recording in spite of the window.
void print_window(const Summary& summary, Page& page) {
  if (!summary.window) {
    return;
  }
  page.fact("window", "work that ended " + analyze::window_text(*summary.window) + ", in time slices of " +
                          analyze::slice_lengths(summary.grid));
  page.fact("whole", std::string("not limited to the window: losses, coverage") +
                         (summary.counted.empty() ? "" : ", counts at instructions"));
}

// Formats how the device spent its time: "busy 93.10% (2.80 s of 3.00 s), idle 200 ms".
std::string device_use(const DeviceLine& device) {
  if (device.wall_ns == 0) {
    return "GPU time " + short_duration(device.weight.ns);
  }
  const std::string busy = percent_text(std::min(device.busy_ns, device.wall_ns), device.wall_ns) + " (" +
                           short_duration(device.busy_ns) + " of " + short_duration(device.wall_ns);
  const bool is_exact = device.busy_ns == device.weight.ns;  // nothing in the subset shared the device with other work
  return device.overlap
             ? "busy at most " + busy + ", recordings overlap)" + (device.partial ? ", counting only this subset" : "")
         : device.partial
             ? (is_exact ? "busy " : "busy at least ") + busy + ")" +
                   (is_exact ? "" : ", at most " + short_duration(std::min(device.weight.ns, device.wall_ns))) +
                   ", counting only this subset"
             : "busy " + busy + "), idle " + (device.lacks_work ? "at most " : "") + short_duration(device.idle_ns);
}

void print_devices(const std::vector<DeviceLine>& devices, Page& page) {
  const size_t shown = page.full() ? devices.size() : std::min(devices.size(), page.detail().devices);
  for (size_t i = 0; i < shown; ++i) {
    const DeviceLine& device = devices[i];
    const std::string text = ": " + device_use(device);
    constexpr size_t kLeast = 20;
    const size_t room = std::max(kLeast, page.width() - std::min(page.width(), text.size()));
    const std::string name = shown_name(shown_ends(device.name));
    page.full() ? page.line(name + text) : page.clauses(cut_middle(name, room) + text, "");
  }
  if (devices.size() > shown) {
    page.line("... " + counted_text(devices.size() - shown, "more device"));
  }
}

// Prints why the devices were idle: "while idle: 49.0% on CPU in fetch (loader.py), 32.0% sleeps, 1.0% not sampled".
// Below it, prints once what to try against the causes that it names, except small ones.
void print_idle_causes(const Summary& summary, Page& page) {
  constexpr size_t kShown = 5;
  constexpr size_t kName = 60;
  constexpr uint64_t kLeastPercent = 5;
  std::string text;
  std::vector<const Advice*> advice;
  for (size_t i = 0; i < summary.idle_causes.size(); ++i) {
    const analyze::IdleCause& cause = summary.idle_causes[i];
    if (!page.full() && i >= kShown && cause.what != "not sampled") {
      continue;
    }
    const std::string what = shown_name(shown_ends(cause.what));
    text.append(text.empty() ? "while idle: " : ", ")
        .append(percent_text(cause.ns, summary.idle_ns))
        .append(" ")
        .append(page.full() ? what : cut_middle(what, kName));
    const Advice* const found = advice_for(cause.what);
    if (found != nullptr && cause.ns >= summary.idle_ns / 100 * kLeastPercent &&
        std::find(advice.begin(), advice.end(), found) == advice.end()) {
      advice.push_back(found);
    }
  }
  if (!text.empty()) {
    page.clauses(text, "");
  }
  for (const Advice* const one : advice) {
    const std::string_view cause = one->cause == "in " ? "in calls" : one->cause;
    page.line("  " + std::string(cause) + ": " + std::string(one->text));
  }
}

std::string graphs_line(const Summary& summary) {
  const auto& graphs = summary.graphs;
  if (graphs.weight.count == 0) {
    return {};
  }
  return "of it in graphs or command lists " + short_duration(graphs.weight.ns) + " in " +
         counted_text(graphs.weight.count, "operation") + ", " +
         percent_text_down(graphs.captured, graphs.weight.count) + " of them with their capture's stack";
}

std::string samples_line(const Summary& summary) {
  if (summary.recorded_samples == 0) {
    return no_samples_text(summary.info);
  }
  std::string line = counted_text(summary.recorded_samples, "stall sample") + in_windows(summary.info);
  if (summary.estimated > 0) {
    line += ", " + percent_text_up(summary.estimated, summary.recorded_samples) + " of them attributed by estimate";
  }
  return line;
}

void print_headline(const Summary& summary, Page& page) {
  const auto line = [&page](const std::string& text) {
    if (!text.empty()) {
      page.clauses(text, "");
    }
  };
  const std::string truncated = truncated_percent(summary.info);
  switch (summary.info.kind) {
    case ProfileKind::empty:
      return line(summary.counted.empty() ? "no GPU work was recorded"
                                          : "instructions were counted, times were not measured");
    case ProfileKind::stall_samples:
      return line(samples_line(summary));
    case ProfileKind::launch_counts:
      line(counted_text(summary.all.count, "launch") + "; counts only, this profile has no GPU times" +
           (truncated.empty() ? "" : ", " + truncated + " of the stacks truncated"));
      return line(samples_line(summary));
    case ProfileKind::durations:
    case ProfileKind::mixed:
      break;
  }
  line("GPU time " + short_duration(summary.all.ns) + " in " + counted_text(summary.gpu_records, "operation") +
       (summary.gpu_records == 0
            ? ""
            : ", " + percent_text_down(summary.with_stack_records, summary.gpu_records) + " of them with a CPU stack") +
       (truncated.empty() ? "" : ", " + truncated + " truncated"));
  line(summary.untimed == 0 ? "" : counted_text(summary.untimed, "more launch") + " without GPU times, only counted");
  line(samples_line(summary));
}

}  // namespace

void print_head(const Summary& summary, Page& page) {
  print_facts(summary.info, page);
  print_losses(summary.info, page);
  print_estimate(summary.info, page);
  print_part(summary.info, page);
  print_window(summary, page);
  const bool is_of_slices = summary.window || has_all_work(analyze::subset_of(summary.info.meta));
  if (const std::string shift = analyze::slice_shift_text(summary.info.meta); is_of_slices && !shift.empty()) {
    page.fact("slices", shift);
  }
  print_devices(summary.devices, page);
  print_idle_causes(summary, page);
  print_headline(summary, page);
}

void print_graphs(const Summary& summary, Page& page) {
  if (const std::string line = graphs_line(summary); !line.empty()) {
    page.clauses(line, "");
  }
}

}  // namespace gpuprof::output
