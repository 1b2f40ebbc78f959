#include "output/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <utility>

#include "analyze/names/distinct_names.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/report/blocks.h"
#include "output/report/counted.h"
#include "output/report/fit.h"
#include "output/report/head.h"
#include "output/report/page.h"
#include "output/report/paths.h"
#include "output/report/report.h"
#include "output/report/stalls.h"
#include "output/trust.h"
#include "output/weight.h"

namespace gpuprof::output {
namespace {

using analyze::FunctionLine;
using analyze::GroupLine;
using analyze::ProfileKind;
using analyze::Summary;
using analyze::SummaryLine;
using analyze::Weight;
using Lines = std::vector<SummaryLine>;

// Formats shares of a total. It is a time or, if the profile has no times, a count.
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

void print_filter(const Summary& summary, Page& page) {
  if (!summary.filtered) {
    return;
  }
  const std::string share = Shares(summary, summary.all).of(summary.total);
  page.line(summary.timed
                ? "shown below: " + share + " of the GPU time, " + short_duration(summary.total.ns)
                : "shown below: " + share + " of the " + counted(summary) + ", " + count_text(summary.total.count));
}

template <typename Line>
bool has_times(const Line& line) {
  return line.untimed == 0 || line.untimed < line.weight.count;
}

// Formats a time of the line: "-" if a recording only counted its launches.
template <typename Line>
std::string time_text(const Line& line, uint64_t ns) {
  return has_times(line) ? short_duration(ns) : "-";
}

std::string known_time(const std::optional<uint64_t>& ns) {
  return ns ? short_duration(*ns) : "-";
}

// Formats the line's share: "-" if it is one of times that are unknown.
template <typename Line>
std::string line_share(const Summary& summary, const Shares& shares, const Line& line) {
  return summary.timed && !has_times(line) ? "-" : shares.of(line.weight);
}

// Formats how far an estimated time may be off, in percent of the time. "-": the time is exact.
std::string margin_text(const Summary& summary, const std::optional<analyze::Margin>& margin, uint64_t ns) {
  return !margin ? (summary.info.margin.empty() ? "?" : "-") : margin->is_rare ? "rare" : percent_text(margin->ns, ns);
}

// Inserts an element into the table of an estimate, behind the time in column `time`.
void insert_margin(const Summary& summary, std::string text, std::vector<std::string>& columns, ptrdiff_t time = 1) {
  if (summary.info.is_estimate()) {
    columns.insert(columns.begin() + time + 1, std::move(text));
  }
}

// Whether the table of kernels has all percentiles and the maximum. Otherwise it has the median and p99 only.
bool has_all_percentiles(const Summary& summary, const Page& page) {
  return summary.has_percentiles && !page.detail().one_line && page.width() >= kWide;
}

// Returns how many columns of numbers the table of kernels has.
size_t kernel_numbers(const Summary& summary, const Page& page) {
  return work_numbers(page.width(), page.detail().one_line) + (has_all_percentiles(summary, page) ? 2 : 0);
}

// Prints a table of kernels or of groups of kernels. `name` returns the text of a line.
template <typename Line, typename Name>
void print_work(const Summary& summary, const std::vector<Line>& lines, const char* title, size_t found, Name name,
                Page& page) {
  if (lines.empty()) {
    return;
  }
  const Shares shares(summary, summary.total);
  page.title(title, lines.size(), found);
  const auto first = [&](std::vector<std::string> numbers, std::string margin) {
    insert_margin(summary, std::move(margin), numbers);
    numbers.resize(std::min(numbers.size(), kernel_numbers(summary, page)));
    return numbers;
  };
  std::vector<std::string> columns = {"share", counted(summary)};
  const bool all = has_all_percentiles(summary, page);
  if (summary.timed) {
    columns = all ? std::vector<std::string>{"share", "time", "calls", "avg", "median", "p95", "p99", "max"}
              : summary.has_percentiles ? std::vector<std::string>{"share", "time", "calls", "avg", "median", "p99"}
                                        : std::vector<std::string>{"share", "time", "calls", "avg", "max", "stdev"};
  }
  page.columns(first(columns, "+-"), "name");
  for (const Line& line : lines) {
    std::vector<std::string> numbers = {line_share(summary, shares, line)};
    if (summary.timed) {
      numbers.push_back(time_text(line, line.weight.ns));
    }
    numbers.push_back(short_count_text(line.weight.count));
    if (summary.timed) {
      numbers.push_back(time_text(line, line.average_ns));
      const auto& [median, p95, p99] = line.percentiles;
      const std::string max = time_text(line, line.max_ns);
      const std::vector<std::string> rest =
          all ? std::vector<std::string>{known_time(median), known_time(p95), known_time(p99), max}
          : summary.has_percentiles ? std::vector<std::string>{known_time(median), known_time(p99)}
                                    : std::vector<std::string>{max, known_time(line.deviation_ns)};
      numbers.insert(numbers.end(), rest.begin(), rest.end());
    }
    page.row(first(std::move(numbers), margin_text(summary, line.margin, line.weight.ns)), name(line));
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
    page.row({has_times(line) ? percent_text(busy(line), busy(summary.ranks.front())) : "-",
              time_text(line, busy(line)), short_count_text(line.weight.count), time_text(line, line.average_ns)},
             page.name(line.name, page.name_width(4), Naming::plain));
  }
}

// Formats a Python function: "step (train.py)". If there is too little space, cuts the file before it cuts the name.
std::string python_function(const FunctionLine& line, size_t width_left, const Page& page) {
  constexpr size_t kLeastFile = 8;
  constexpr size_t kCut = 3;  // length of "..."
  const std::string name = shown_name(shown_ends(line.name)) + " (";
  const std::string file = shown_name(shown_ends(line.file));
  const size_t left = width_left - std::min(width_left, utf8_length(name) + 1);
  const std::string last = file.substr(file.rfind('/') + 1);
  const bool has_room = page.full() || utf8_length(file) <= left || left >= utf8_length(last) + kCut;
  return name + (page.full() ? file : cut_front(has_room ? file : last, std::max(left, kLeastFile))) + ")";
}

// Returns a distinct text for each line: "at::native::add", or "step (train.py) +2" if the line joins three functions.
std::vector<std::string> function_texts(const std::vector<FunctionLine>& lines, size_t numbers, const Page& page) {
  constexpr size_t kMark = 5;  // width of a suffix such as " +123" or " #2", which makes texts distinct
  const size_t width = page.full() ? std::string::npos : page.name_width(numbers) - kMark;
  std::vector<std::string> texts;
  std::vector<std::string> native;
  for (const FunctionLine& line : lines) {
    if (line.file.empty()) {
      native.push_back(shown_name(shown_text(line.name)));
    }
  }
  std::vector<std::string> shown =
      page.full() ? native : analyze::distinct_kernel_names(native, width, analyze::Named::function);
  auto next = shown.begin();
  for (const FunctionLine& line : lines) {
    const size_t width_left = width_behind(numbers, page.width()) - kMark;
    texts.push_back(line.file.empty() ? std::move(*next++) : python_function(line, width_left, page));
  }
  analyze::number_equal_texts(texts, width);
  for (size_t i = 0; i < lines.size(); ++i) {
    texts[i].append(lines[i].others == 0 ? "" : " +" + short_count_text(lines[i].others));
  }
  return texts;
}

void print_functions(const Summary& summary, Page& page) {
  if (summary.functions.empty()) {
    return;
  }
  const Shares shares(summary, summary.total);
  page.title("Top functions, including callees", summary.functions.size(), summary.found.functions);
  constexpr ptrdiff_t kTime = 2;
  std::vector<std::string> columns = summary.timed ? std::vector<std::string>{"total", "direct", "time", "calls"}
                                                   : std::vector<std::string>{"total", "direct", counted(summary)};
  insert_margin(summary, "+-", columns, kTime);
  const bool joined = std::any_of(summary.functions.begin(), summary.functions.end(),
                                  [](const FunctionLine& line) { return line.others > 0; });
  page.columns(columns, joined ? "function (+N others on the same paths)" : "function");
  const std::vector<std::string> texts = function_texts(summary.functions, columns.size(), page);
  for (size_t i = 0; i < texts.size(); ++i) {
    const FunctionLine& line = summary.functions[i];
    const bool is_untimed = summary.timed && summary.untimed > 0 && line.total.ns == 0;
    std::vector<std::string> numbers = {is_untimed ? "-" : shares.of(line.total),
                                        is_untimed ? "-" : shares.of(line.direct)};
    if (summary.timed) {
      numbers.push_back(is_untimed ? "-" : short_duration(line.total.ns));
    }
    numbers.push_back(short_count_text(line.total.count));
    insert_margin(summary, margin_text(summary, line.uncertainty.margin(), line.total.ns), numbers, kTime);
    page.row(numbers, texts[i]);
  }
}

bool several_processes(const Lines& lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [&lines](const SummaryLine& line) { return line.process != lines.front().process; });
}

template <typename Numbers>
void print_paths(const Lines& lines, const char* title, size_t found, const std::vector<std::string>& columns,
                 Numbers numbers, Page& page) {
  if (lines.empty()) {
    return;
  }
  const bool named = several_processes(lines);
  page.title(title, lines.size(), found);
  page.columns(columns, "name, and where it was launched");
  for (const SummaryLine& line : lines) {
    page.work_row(numbers(line), line.work);
    if (named) {
      page.dim_line("          in " + page.name(line.process, 40));
    }
    print_frames(line.path, page);
  }
}

void print_call_paths(const Summary& summary, Page& page) {
  const Shares shares(summary, summary.total);
  const auto numbers = [&](const SummaryLine& line) {
    auto values = summary.timed ? std::vector{line_share(summary, shares, line), time_text(line, line.weight.ns),
                                              short_count_text(line.weight.count), time_text(line, line.average_ns)}
                                : std::vector{shares.of(line.weight), short_count_text(line.weight.count)};
    insert_margin(summary, margin_text(summary, line.margin, line.weight.ns), values);
    return values;
  };
  std::vector<std::string> columns = summary.timed ? std::vector<std::string>{"share", "time", "calls", "avg"}
                                                   : std::vector<std::string>{"share", counted(summary)};
  insert_margin(summary, "+-", columns);
  print_paths(summary.call_paths, "Top call paths", summary.found.call_paths, columns, numbers, page);
}

void print_counts(const Lines& lines, const char* title, size_t found, uint64_t whole, Page& page) {
  if (lines.empty()) {
    return;
  }
  page.title(title, lines.size(), found);
  page.columns({"share", "samples"}, "name");
  for (const SummaryLine& line : lines) {
    page.work_row({percent_text(line.weight.count, whole), short_count_text(line.weight.count)}, line.work);
  }
}

// Formats a code location: "saxpy+0x40: FFMA R1, R2, R3 at clamp (saxpy.cu:12)".
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
  if (const std::string dropped = dropped_samples_text(summary.info); !dropped.empty()) {
    page.line("");
    return page.clauses(dropped, "");
  }
  print_stalls(summary, page);
  print_counts(summary.sample_reasons, "Top stall reasons", summary.found.sample_reasons, whole, page);
  if (whole > 0 && summary.info.is_estimate()) {
    page.prose(
        "Samples are only those in windows (--max-overhead). Of their shares, only those of stalls have intervals.");
  }
  if (summary.sample_places.empty()) {
    return;
  }
  page.title("Top GPU code locations", summary.sample_places.size(), summary.found.sample_places);
  page.columns({"share", "samples"}, "place");
  for (const analyze::PlaceLine& place : summary.sample_places) {
    const std::string text = place_text(place);
    page.row({percent_text(place.samples, whole), short_count_text(place.samples)},
             page.full() ? text : cut_middle(text, page.name_width(2)));
  }
}

void print_calls(const Summary& summary, Page& page) {
  if (summary.calls.empty()) {
    return;
  }
  const auto text_of = [](const std::optional<uint64_t>& ns) { return ns ? short_duration(*ns) : std::string("-"); };
  page.title("Top host calls", summary.calls.size(), summary.found.calls);
  page.columns({"share", "time", "calls", "average", "median", "max"}, "function");
  for (const SummaryLine& line : summary.calls) {
    page.work_row({percent_text(line.weight.ns, summary.call_total.ns), short_duration(line.weight.ns),
                   short_count_text(line.weight.count), short_duration(line.average_ns),
                   text_of(line.percentiles.median_ns), short_duration(line.max_ns)},
                  line.work);
  }
}

// Waits are measured in time, allocations in bytes, and page faults by their number.
void print_host(const Summary& summary, Page& page) {
  if (!summary.host_work.empty()) {
    page.title("Waits, allocations and page faults", summary.host_work.size(), summary.found.host_work);
    page.columns({"time", "calls", "max", "bytes"}, "name");
  }
  for (const SummaryLine& line : summary.host_work) {
    page.work_row({line.weight.ns == 0 ? "-" : short_duration(line.weight.ns), short_count_text(line.weight.count),
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

void print_without_work(const Summary& summary, Page& page) {
  const auto calls = [](const SummaryLine& line) { return std::vector{short_count_text(line.weight.count)}; };
  print_paths(summary.failures, "Calls that failed", summary.found.failures, {"calls"}, calls, page);
  print_paths(summary.without_work, "Launches without recorded GPU work", summary.found.without_work, {"launches"},
              calls, page);
}

void print_trust(const Summary& summary, Page& page) {
  for (const std::string& note : note_lines(summary.info)) {
    page.clauses(note, "");
  }
  std::vector<std::string> lines = trust_lines(summary.info);
  if (page.detail().whole_trust) {
    for (std::string& line : stack_lines(summary.info)) {
      lines.push_back(std::move(line));
    }
  }
  if (lines.empty()) {
    return;
  }
  if (!page.detail().whole_trust) {
    page.line("");
    // In short form, shows only the coverage: it is the last line, and summarizes the others.
    return page.clauses(lines.back(), "");
  }
  page.title(summary.window ? "What the whole recording saw and missed" : "What this recording saw and missed", 0, 0);
  for (const std::string& line : lines) {
    page.clauses(line, "  ");
  }
}

// Lists the tables that fit.h removed completely.
void print_left_out(const Summary& summary, Page& page) {
  std::string text;
  const auto add = [&text](const auto& table, size_t found, const char* words) {
    if (table.empty() && found > 0) {
      text.append(text.empty() ? "" : ", ").append(words).append(" (").append(count_text(found)).append(")");
    }
  };
  add(summary.ranks, summary.found.ranks, "ranks");
  add(summary.blocks, summary.found.blocks, "thread blocks of kernels");
  if (!summary.stalls.empty()) {
    add(summary.sampled_work, summary.found.sampled_work, "kernels by samples");
    add(summary.sample_places, summary.found.sample_places, "GPU code locations");
  }
  add(summary.host_work, summary.found.host_work, "waits and allocations");
  add(summary.calls, summary.found.calls, "host calls");
  add(summary.waits, summary.found.waits, "waits by path");
  add(summary.allocations, summary.found.allocations, "allocations by path");
  add(summary.failures, summary.found.failures, "calls that failed");
  add(summary.without_work, summary.found.without_work, "launches without recorded GPU work");
  if (!text.empty()) {
    page.line("");
    page.clauses("Not shown here: " + text + "; --top 0 shows all", "");
  }
}

// What all attempts to shorten the report use: the options, and the names in the complete summary.
struct FitContext {
  const ReportOptions& options;
  Names names;
};

void print_all(const Summary& summary, const Detail& detail, const FitContext& whole, TextStream& stream) {
  Page page(whole.options, detail, whole.names, stream);
  print_head(summary, page);
  print_filter(summary, page);
  print_graphs(summary, page);
  const bool stalls = summary.info.kind == ProfileKind::stall_samples;
  print_work(
      summary, summary.groups, "Groups", summary.found.groups,
      [&](const GroupLine& line) {
        return page.name(line.name, page.name_width(kernel_numbers(summary, page)), Naming::plain);
      },
      page);
  print_work(
      summary, summary.work, stalls ? "Top GPU symbols" : "Top kernels and copies", summary.found.work,
      [&page](const SummaryLine& line) { return page.names().work(line.work, page.detail().one_line); }, page);
  print_functions(summary, page);
  print_call_paths(summary, page);
  print_ranks(summary, page);
  print_blocks(summary, page);
  print_samples(summary, page);
  print_counted(summary, page);
  print_calls(summary, page);
  print_host(summary, page);
  print_without_work(summary, page);
  print_left_out(summary, page);
  print_trust(summary, page);
}

// Prints the report with as much detail as fits in the requested number of lines. If even the shortest report has more
// lines, prints that.
class Fit {
 public:
  Fit(const Summary& summary, const FitContext& whole) : whole_summary_(summary), whole_(whole), summary_(summary) {}

  void print(TextStream& stream) {
    size_t most = 0;
    while (remove_line(summary_, detail_)) {
      ++most;
    }
    // Uses bisection, because formatting the paths after each removed line would take long.
    size_t least = 0;
    while (least < most) {
      const size_t middle = least + (most - least) / 2;
      give_up(middle);
      fits() ? most = middle : least = middle + 1;
    }
    give_up(least);
    print_all(summary_, detail_, whole_, stream);
  }

 private:
  void give_up(size_t lines) {
    restore_tables(whole_summary_, summary_);
    detail_ = {};
    while (lines-- > 0 && remove_line(summary_, detail_)) {
    }
  }

  [[nodiscard]] bool fits() const {
    const std::string text = collect_text([&](TextStream& out) { print_all(summary_, detail_, whole_, out); });
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) <= whole_.options.lines;
  }

  const Summary& whole_summary_;
  const FitContext& whole_;
  Summary summary_;
  Detail detail_;
};

}  // namespace

void report_text(const Summary& summary, const ReportOptions& options, TextStream& stream) {
  const FitContext whole{options, Names(summary, options)};
  if (options.lines == 0) {
    return print_all(summary, {}, whole, stream);
  }
  Fit(summary, whole).print(stream);
}

}  // namespace gpuprof::output
