#include "output/text.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <utility>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/utf8.h"
#include "output/report/fit.h"
#include "output/report/page.h"
#include "output/report/paths.h"
#include "output/report/report.h"
#include "output/trust.h"
#include "output/weight.h"

namespace gpuprof::output {
namespace {

using analyze::DeviceLine;
using analyze::FunctionLine;
using analyze::GroupLine;
using analyze::ProfileInfo;
using analyze::ProfileKind;
using analyze::Summary;
using analyze::SummaryLine;
using analyze::Weight;
using Lines = std::vector<SummaryLine>;

constexpr size_t kMostDevices = 8;

// All values of a key, joined; empty for none.
std::string meta(const ProfileInfo& info, const std::string& key) {
  std::string text;
  const auto [begin, end] = info.meta.equal_range(key);
  for (auto value = begin; value != end; ++value) {
    text.append(text.empty() ? "" : "; ").append(shown_name(shown_ends(value->second)));
  }
  return text;
}

// "2026-11-23 14:05 UTC", of nanoseconds since 1970; empty where the text is no such time.
std::string date_text(const std::string& unix_ns) {
  uint64_t ns = 0;
  const auto parsed = std::from_chars(unix_ns.data(), unix_ns.data() + unix_ns.size(), ns);
  const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  const bool is_time = !unix_ns.empty() && parsed.ptr == unix_ns.data() + unix_ns.size();
  return is_time ? utc_text(seconds, "%Y-%m-%d %H:%M UTC") : std::string();
}

// How the target ended: a profile of one that was killed is of what it did until then.
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
  const std::string version = meta(info, "gpuprof_version");
  std::string recorded;
  for (const std::string& text :
       {meta(info, "host"), date_text(meta(info, "start_unix_ns")), version.empty() ? version : "gpuprof " + version}) {
    recorded.append(recorded.empty() || text.empty() ? "" : ", ").append(text);
  }
  const std::string command = meta(info, "command");
  const std::string end = ending(info);
  for (const auto& [word, text] : {std::pair("command", &command), {"host", &recorded}, {"target", &end}}) {
    if (!text->empty()) {
      page.fact(word, *text);
    }
  }
}

void print_losses(const ProfileInfo& info, Page& page) {
  std::string text;
  for (const auto& [reason, count] : info.losses) {
    if (count > 0) {
      text.append(text.empty() ? "" : ", ")
          .append(shown_name(shown_ends(reason)))
          .append(" ")
          .append(count_text(count));
    }
  }
  if (!info.complete) {
    text.append(text.empty() ? "" : ", ").append("the end: the profile is cut short");
  }
  if (!text.empty()) {
    page.fact("lost", text);
  }
}

// "device 0 NVIDIA H200: busy 93.10% (2.80 s of 3.00 s)"
void print_devices(const std::vector<DeviceLine>& devices, Page& page) {
  const size_t shown = page.full() ? devices.size() : std::min(devices.size(), kMostDevices);
  for (size_t i = 0; i < shown; ++i) {
    const DeviceLine& device = devices[i];
    const uint64_t wall = device.busy_ns + device.idle_ns;
    std::string text = ": GPU time " + short_duration(device.weight.ns);
    if (wall > 0) {
      text = ": busy " + percent_text(device.busy_ns, wall) + " (" + short_duration(device.busy_ns) + " of " +
             short_duration(wall) + "), idle " + short_duration(device.idle_ns);
    }
    constexpr size_t kLeast = 20;
    const size_t room = std::max(kLeast, page.width() - std::min(page.width(), text.size()));
    const std::string name = shown_name(shown_ends(device.name));
    page.full() ? page.line(name + text) : page.clauses(cut_middle(name, room) + text, "");
  }
  if (devices.size() > shown) {
    page.line("... " + count_text(devices.size() - shown) + " more devices");
  }
}

std::string graphs_line(const Summary& summary) {
  const auto& graphs = summary.graphs;
  if (graphs.weight.count == 0) {
    return {};
  }
  return "of it in CUDA graphs " + short_duration(graphs.weight.ns) + " in " + count_text(graphs.weight.count) +
         " operations, " + percent_text(graphs.captured, graphs.weight.count) + " of them with their capture's stack";
}

std::string samples_line(const analyze::ProfileInfo& info) {
  if (info.samples == 0) {
    return {};
  }
  std::string line = count_text(info.samples) + " stall samples";
  if (info.estimated > 0) {
    line += ", " + percent_text(info.estimated, info.samples) + " of them attributed by estimate";
  }
  return line;
}

void print_headline(const Summary& summary, Page& page) {
  const auto line = [&page](const std::string& text) {
    if (!text.empty()) {
      page.clauses(text, "");
    }
  };
  switch (summary.info.kind) {
    case ProfileKind::empty:
      return line("no GPU work was recorded");
    case ProfileKind::stall_samples:
      return line(samples_line(summary.info));
    case ProfileKind::launch_counts:
      line(count_text(summary.all.count) + " launches; counts only, this profile has no GPU times");
      return line(samples_line(summary.info));
    case ProfileKind::durations:
    case ProfileKind::mixed:
      break;
  }
  line("GPU time " + short_duration(summary.all.ns) + " in " + count_text(summary.info.gpu_records) + " operations, " +
       percent_text(summary.info.with_stack, summary.info.gpu_records) + " of them with a CPU stack");
  line(samples_line(summary.info));
}

// What a share is of, and how it is told.
class Shares {
 public:
  Shares(const Summary& summary, const Weight& whole) : summary_(summary), whole_(whole) {}

  [[nodiscard]] std::string of(const Weight& part) const {
    return summary_.timed ? percent_text(part.ns, whole_.ns) : percent_text(part.count, whole_.count);
  }

 private:
  const Summary& summary_;
  const Weight& whole_;
};

const char* counted(const Summary& summary) {
  return summary.info.kind == ProfileKind::stall_samples ? "samples" : "calls";
}

void print_graphs(const Summary& summary, Page& page) {
  if (const std::string line = graphs_line(summary); !line.empty()) {
    page.clauses(line, "");
  }
}

void print_filter(const Summary& summary, Page& page) {
  if (!summary.filtered) {
    return;
  }
  const std::string share = Shares(summary, summary.all).of(summary.total);
  page.line(summary.timed
                ? "shown below: " + share + " of the GPU time, " + short_duration(summary.total.ns)
                : "shown below: " + share + " of the " + counted(summary) + ", " + count_text(summary.total.count));
}

std::string deviation_text(const std::optional<uint64_t>& ns) {
  return ns ? short_duration(*ns) : "-";
}

std::string_view work_of(const SummaryLine& line) {
  return line.work;
}

// Kernels, and groups of them.
template <typename Line, typename Name>
void print_work(const Summary& summary, const std::vector<Line>& lines, const char* title, size_t found, Name name,
                Naming naming, Page& page) {
  if (lines.empty()) {
    return;
  }
  const Shares shares(summary, summary.total);
  std::vector<std::string_view> names;
  std::transform(lines.begin(), lines.end(), std::back_inserter(names), name);
  const auto alike = page.alike(names);
  page.title(title, lines.size(), found);
  if (summary.timed) {
    page.columns({"share", "time", "calls", "avg", "max", "stdev"}, "name");
  } else {
    page.columns({"share", counted(summary)}, "name");
  }
  for (const Line& line : lines) {
    std::vector<std::string> numbers = {shares.of(line.weight)};
    if (summary.timed) {
      numbers.push_back(short_duration(line.weight.ns));
    }
    numbers.push_back(short_count_text(line.weight.count));
    if (summary.timed) {
      numbers.push_back(short_duration(average_ns(line.weight)));
      numbers.push_back(short_duration(line.max_ns));
      numbers.push_back(deviation_text(line.deviation_ns));
    }
    page.row(numbers, name(line), alike.count(name(line)) != 0 ? Naming::plain : naming);
  }
}

void print_ranks(const Summary& summary, Page& page) {
  if (summary.ranks.empty()) {
    return;
  }
  const bool shared = summary.ranks.front().busy_ns > 0;
  const auto busy = [shared](const GroupLine& line) { return shared ? line.busy_ns : line.weight.ns; };
  page.title("Ranks, the busiest first", summary.ranks.size(), summary.found.ranks);
  page.columns({"of most", shared ? "busy" : "time", "calls", "avg"}, "rank");
  for (const GroupLine& line : summary.ranks) {
    page.row({percent_text(busy(line), busy(summary.ranks.front())), short_duration(busy(line)),
              short_count_text(line.weight.count), short_duration(average_ns(line.weight))},
             line.name, Naming::plain);
  }
}

// "step (train.py)"; the file gives way before the name does.
std::string python_function(const FunctionLine& line, size_t room, const Page& page) {
  constexpr size_t kLeastFile = 16;
  const std::string name = shown_name(shown_ends(line.name)) + " (";
  const std::string file = shown_name(shown_ends(line.file));
  const size_t left = room - std::min(room, utf8_length(name) + 1);
  return name + (page.full() ? file : cut_front(file, std::max(left, kLeastFile))) + ")";
}

void print_functions(const Summary& summary, Page& page) {
  if (summary.functions.empty()) {
    return;
  }
  const Shares shares(summary, summary.total);
  std::vector<std::string_view> names;
  for (const FunctionLine& line : summary.functions) {
    if (line.file.empty()) {
      names.push_back(line.name);
    }
  }
  const auto alike = page.alike(names);
  page.title("Top functions, with all that they call", summary.functions.size(), summary.found.functions);
  if (summary.timed) {
    page.columns({"total", "direct", "time", "calls"}, "function");
  } else {
    page.columns({"total", "direct", counted(summary)}, "function");
  }
  for (const FunctionLine& line : summary.functions) {
    std::vector<std::string> numbers = {shares.of(line.total), shares.of(line.direct)};
    if (summary.timed) {
      numbers.push_back(short_duration(line.total.ns));
    }
    numbers.push_back(short_count_text(line.total.count));
    if (line.file.empty()) {
      page.row(numbers, line.name, alike.count(line.name) != 0 ? Naming::plain : Naming::signature);
    } else {
      page.row(numbers, python_function(line, page.room(numbers.size()), page), Naming::plain);
    }
  }
}

bool several_processes(const Lines& lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [&lines](const SummaryLine& line) { return line.process != lines.front().process; });
}

// `numbers` of a line's weight.
template <typename Numbers>
void print_paths(const Lines& lines, const char* title, size_t found, const std::vector<std::string>& columns,
                 Numbers numbers, Page& page) {
  if (lines.empty()) {
    return;
  }
  const bool named = several_processes(lines);
  std::vector<std::string_view> names;
  std::transform(lines.begin(), lines.end(), std::back_inserter(names), work_of);
  const auto alike = page.alike(names);
  page.title(title, lines.size(), found);
  page.columns(columns, "name, and where it was launched");
  for (const SummaryLine& line : lines) {
    page.row(numbers(line), line.work, alike.count(line.work) != 0 ? Naming::plain : Naming::signature);
    if (named) {
      page.dim_line("          in " + page.name(line.process, 40));
    }
    print_frames(line.path, page);
  }
}

void print_call_paths(const Summary& summary, Page& page) {
  const Shares shares(summary, summary.total);
  const auto numbers = [&](const SummaryLine& line) {
    return summary.timed ? std::vector{shares.of(line.weight), short_duration(line.weight.ns),
                                       short_count_text(line.weight.count), short_duration(average_ns(line.weight))}
                         : std::vector{shares.of(line.weight), short_count_text(line.weight.count)};
  };
  const std::vector<std::string> columns = summary.timed ? std::vector<std::string>{"share", "time", "calls", "avg"}
                                                         : std::vector<std::string>{"share", counted(summary)};
  print_paths(summary.call_paths, "Top call paths", summary.found.call_paths, columns, numbers, page);
}

void print_counts(const Lines& lines, const char* title, size_t found, uint64_t whole, Page& page) {
  if (lines.empty()) {
    return;
  }
  std::vector<std::string_view> names;
  std::transform(lines.begin(), lines.end(), std::back_inserter(names), work_of);
  const auto alike = page.alike(names);
  page.title(title, lines.size(), found);
  page.columns({"share", "samples"}, "name");
  for (const SummaryLine& line : lines) {
    page.row({percent_text(line.weight.count, whole), short_count_text(line.weight.count)}, line.work,
             alike.count(line.work) != 0 ? Naming::plain : Naming::signature);
  }
}

// "saxpy+0x40: FFMA R1, R2, R3 at clamp (saxpy.cu:12)"
std::string place_text(const analyze::PlaceLine& place) {
  char offset[24];
  std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(place.offset));
  std::string text = (place.function.empty() ? "[unknown]" : shown_name(shown_ends(place.function))) + offset;
  if (!place.instruction.empty()) {
    text += ": " + shown_name(shown_ends(place.instruction));
  }
  if (!place.file.empty()) {
    text += " at " + shown_name(shown_ends(place.source_function)) + " (" + shown_name(shown_ends(place.file));
    text += (place.line == 0 ? "" : ":" + std::to_string(place.line)) + ")";
  }
  return text;
}

void print_samples(const Summary& summary, Page& page) {
  const uint64_t whole = summary.samples;
  print_counts(summary.sampled_work, "Top kernels by samples", summary.found.sampled_work, whole, page);
  print_counts(summary.sample_reasons, "Top stall reasons", summary.found.sample_reasons, whole, page);
  if (summary.sample_places.empty()) {
    return;
  }
  page.title("Top places in GPU code", summary.sample_places.size(), summary.found.sample_places);
  page.columns({"share", "samples"}, "place");
  for (const analyze::PlaceLine& place : summary.sample_places) {
    page.row({percent_text(place.samples, whole), short_count_text(place.samples)}, place_text(place), Naming::plain);
  }
}

// Waits have a time, allocations have bytes, page faults a count.
void print_host(const Summary& summary, Page& page) {
  if (!summary.host_work.empty()) {
    page.title("Waits, allocations and page faults", summary.host_work.size(), summary.found.host_work);
    page.columns({"time", "calls", "max", "bytes"}, "name");
  }
  for (const SummaryLine& line : summary.host_work) {
    page.row({line.weight.ns == 0 ? "-" : short_duration(line.weight.ns), short_count_text(line.weight.count),
              line.max_ns == 0 ? "-" : short_duration(line.max_ns),
              line.weight.bytes == 0 ? "-" : bytes_text(line.weight.bytes)},
             line.work);
  }
  print_paths(
      summary.waits, "Top waits for a GPU", summary.found.waits, {"share", "time", "calls", "max"},
      [&](const SummaryLine& line) {
        return std::vector{percent_text(line.weight.ns, summary.wait_total.ns), short_duration(line.weight.ns),
                           short_count_text(line.weight.count), short_duration(line.max_ns)};
      },
      page);
  print_paths(
      summary.allocations, "Top allocations", summary.found.allocations, {"share", "bytes", "calls"},
      [&](const SummaryLine& line) {
        return std::vector{percent_text(line.weight.bytes, summary.allocation_total.bytes),
                           bytes_text(line.weight.bytes), short_count_text(line.weight.count)};
      },
      page);
}

void print_trust(const Summary& summary, Page& page) {
  std::vector<std::string> lines = trust_lines(summary.info);
  for (std::string& line : stack_lines(summary.info)) {
    lines.push_back(std::move(line));
  }
  if (lines.empty()) {
    return;
  }
  page.title("What this recording saw and missed", 0, 0);
  for (const std::string& line : lines) {
    page.clauses(line, "  ");
  }
}

void print_all(const Summary& summary, const ReportOptions& options, TextStream& stream) {
  Page page(options, stream);
  print_facts(summary.info, page);
  print_losses(summary.info, page);
  print_devices(summary.devices, page);
  print_headline(summary, page);
  print_filter(summary, page);
  print_graphs(summary, page);
  const bool stalls = summary.info.kind == ProfileKind::stall_samples;
  print_work(
      summary, summary.groups, "Groups", summary.found.groups,
      [](const GroupLine& line) -> std::string_view { return line.name; }, Naming::plain, page);
  print_work(summary, summary.work, stalls ? "Top GPU symbols" : "Top kernels and copies", summary.found.work, work_of,
             Naming::signature, page);
  print_functions(summary, page);
  print_call_paths(summary, page);
  print_ranks(summary, page);
  print_samples(summary, page);
  print_host(summary, page);
  print_trust(summary, page);
}

bool is_longer(const Summary& summary, const ReportOptions& options) {
  const std::string text = collect_text([&](TextStream& out) { print_all(summary, options, out); });
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) > options.lines;
}

}  // namespace

void report_text(const Summary& summary, const ReportOptions& options, TextStream& stream) {
  if (options.lines == 0) {
    return print_all(summary, options, stream);
  }
  Summary fitted = summary;
  while (is_longer(fitted, options) && give_up_line(fitted)) {
  }
  print_all(fitted, options, stream);
}

}  // namespace gpuprof::output
