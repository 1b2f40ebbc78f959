#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "base/numbers.h"
#include "base/utf8.h"
#include "output/report.h"
#include "output/text.h"
#include "output/trust.h"
#include "output/weight.h"

namespace gpuprof::output {
namespace {

using analyze::DeviceLine;
using analyze::ProfileKind;
using analyze::Summary;
using analyze::SummaryLine;
using analyze::Weight;
using Lines = std::vector<SummaryLine>;

constexpr size_t kMinNameWidth = 24;
constexpr size_t kIndent = 8;
constexpr size_t kPercent = 8;
constexpr size_t kTime = 11;
constexpr size_t kCount = 14;
constexpr size_t kBytes = 12;

// Numbers in front, the name in what is left of the width, and callers below it.
class Table {
 public:
  Table(const Lines& lines, size_t width) : lines_(lines), width_(width) {
    std::set<std::string_view> processes;
    for (const SummaryLine& line : lines) {
      processes.insert(line.process);
    }
    several_processes_ = processes.size() > 1;
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  virtual ~Table() = default;

  void print(const char* title, TextStream& stream) const {
    std::string& out = stream.text();
    if (lines_.empty()) {
      return;
    }
    const std::string columns = header();
    const size_t name_width = std::max(kMinNameWidth, width_ > columns.size() ? width_ - columns.size() : 0);
    out.append("\n").append(title).append("\n").append(columns).append("name\n");
    for (const SummaryLine& line : lines_) {
      append_numbers(line, out);
      out.append(cut_middle(shown_name(shown_ends(line.work)), name_width)).append("\n");
      if (!line.path.empty()) {
        std::string begin(kIndent, ' ');
        if (several_processes_) {
          begin += cut_middle(shown_name(shown_ends(line.process)), 44) + ":";
        }
        out.append(callers_text(std::move(begin), line.path.frames(), width_)).append("\n");
      }
      stream.checkpoint();
    }
  }

 private:
  [[nodiscard]] virtual std::string header() const = 0;
  virtual void append_numbers(const SummaryLine& line, std::string& out) const = 0;

  const Lines& lines_;
  size_t width_;
  bool several_processes_ = false;
};

class TimeTable : public Table {
 public:
  TimeTable(const Lines& lines, size_t width, const Weight& total) : Table(lines, width), total_(total) {}

 private:
  [[nodiscard]] std::string header() const override {
    std::string out;
    append_right("time %", kPercent, out);
    append_right("time", kTime, out);
    append_right("calls", kCount, out);
    for (const char* column : {"avg", "min", "max"}) {
      append_right(column, kTime, out);
    }
    return out + "  ";
  }
  void append_numbers(const SummaryLine& line, std::string& out) const override {
    const Weight& weight = line.weight;
    append_right(percent_text(weight.ns, total_.ns), kPercent, out);
    append_right(duration_text(weight.ns), kTime, out);
    append_right(count_text(weight.count), kCount, out);
    append_right(duration_text(average_ns(weight)), kTime, out);
    append_right(duration_text(line.min_ns), kTime, out);
    append_right(duration_text(line.max_ns), kTime, out);
    out += "  ";
  }

  const Weight& total_;
};

class CountTable : public Table {
 public:
  CountTable(const Lines& lines, size_t width, const Weight& total, const char* counted)
      : Table(lines, width), total_(total), counted_(counted) {}

 private:
  [[nodiscard]] std::string header() const override {
    std::string out;
    append_right("%", kPercent, out);
    append_right(counted_, kCount, out);
    return out + "  ";
  }
  void append_numbers(const SummaryLine& line, std::string& out) const override {
    append_right(percent_text(line.weight.count, total_.count), kPercent, out);
    append_right(count_text(line.weight.count), kCount, out);
    out += "  ";
  }

  const Weight& total_;
  const char* counted_;
};

class BytesTable : public Table {
 public:
  BytesTable(const Lines& lines, size_t width, const Weight& total) : Table(lines, width), total_(total) {}

 private:
  [[nodiscard]] std::string header() const override {
    std::string out;
    append_right("bytes %", kPercent, out);
    append_right("bytes", kBytes, out);
    append_right("calls", kCount, out);
    return out + "  ";
  }
  void append_numbers(const SummaryLine& line, std::string& out) const override {
    append_right(percent_text(line.weight.bytes, total_.bytes), kPercent, out);
    append_right(bytes_text(line.weight.bytes), kBytes, out);
    append_right(count_text(line.weight.count), kCount, out);
    out += "  ";
  }

  const Weight& total_;
};

// Waits have a time, allocations have bytes, page faults a count.
class HostTable : public Table {
 public:
  using Table::Table;

 private:
  [[nodiscard]] std::string header() const override {
    std::string out;
    append_right("time", kTime, out);
    append_right("calls", kCount, out);
    append_right("max", kTime, out);
    append_right("bytes", kBytes, out);
    return out + "  ";
  }
  void append_numbers(const SummaryLine& line, std::string& out) const override {
    append_right(line.weight.ns == 0 ? "-" : duration_text(line.weight.ns), kTime, out);
    append_right(count_text(line.weight.count), kCount, out);
    append_right(line.max_ns == 0 ? "-" : duration_text(line.max_ns), kTime, out);
    append_right(line.weight.bytes == 0 ? "-" : bytes_text(line.weight.bytes), kBytes, out);
    out += "  ";
  }
};

void print_devices(const std::vector<DeviceLine>& devices, size_t width, TextStream& stream) {
  std::string& out = stream.text();
  if (devices.empty()) {
    return;
  }
  std::string columns;
  append_right("busy %", kPercent, columns);
  for (const char* column : {"busy", "idle", "wall", "GPU time"}) {
    append_right(column, kTime, columns);
  }
  append_right("operations", kCount, columns);
  columns += "  ";
  out.append("\nDevices\n").append(columns).append("name\n");
  for (const DeviceLine& device : devices) {
    const uint64_t wall = device.busy_ns + device.idle_ns;
    append_right(percent_text(device.busy_ns, wall), kPercent, out);
    for (const uint64_t ns : {device.busy_ns, device.idle_ns, wall, device.weight.ns}) {
      append_right(duration_text(ns), kTime, out);
    }
    append_right(count_text(device.weight.count), kCount, out);
    const size_t room = std::max(kMinNameWidth, width > columns.size() ? width - columns.size() : 0);
    out.append("  ").append(cut_middle(shown_name(shown_ends(device.name)), room)).append("\n");
    stream.checkpoint();
  }
}

// How the target ended: a profile of one that was killed is of what it did until then.
std::string ending_line(const analyze::ProfileInfo& info) {
  std::string line;
  const auto [begin, end] = info.meta.equal_range("target.exit_status");
  for (auto value = begin; value != end; ++value) {
    const bool is_number = value->second.find_first_not_of("0123456789") == std::string::npos;
    line.append(line.empty() ? "target   " : "; ").append(is_number ? "exit status " : "");
    line.append(shown_name(value->second));
  }
  return line.empty() ? line : line + "\n";
}

std::string graphs_line(const Summary& summary) {
  const auto& graphs = summary.graphs;
  if (graphs.weight.count == 0) {
    return {};
  }
  return "of it in CUDA graphs " + duration_text(graphs.weight.ns) + " in " + count_text(graphs.weight.count) +
         " operations, " + percent_text(graphs.captured, graphs.weight.count) +
         " of them with the stack of their capture\n";
}

std::string samples_line(const analyze::ProfileInfo& info) {
  if (info.samples == 0) {
    return {};
  }
  std::string line = count_text(info.samples) + " stall samples";
  if (info.estimated > 0) {
    line += ", " + percent_text(info.estimated, info.samples) + " of them attributed by estimate";
  }
  return line + "\n";
}

std::string headline(const Summary& summary) {
  switch (summary.info.kind) {
    case ProfileKind::empty:
      return "no GPU work was recorded\n";
    case ProfileKind::stall_samples:
      return samples_line(summary.info);
    case ProfileKind::launch_counts:
      return count_text(summary.total.count) + " launches; counts only, this profile has no GPU times\n" +
             samples_line(summary.info);
    case ProfileKind::durations:
    case ProfileKind::mixed:
      break;
  }
  return "GPU time " + duration_text(summary.total.ns) + " in " + count_text(summary.info.gpu_records) +
         " operations, " + percent_text(summary.info.with_stack, summary.info.gpu_records) +
         " of them with a CPU stack\n" + graphs_line(summary) + samples_line(summary.info);
}

void print_gpu_work(const Summary& summary, size_t width, TextStream& stream) {
  const bool stalls = summary.info.kind == ProfileKind::stall_samples;
  const auto print = [&](const char* title, const Lines& lines) {
    if (summary.timed) {
      TimeTable(lines, width, summary.total).print(title, stream);
    } else {
      CountTable(lines, width, summary.total, stalls ? "samples" : "calls").print(title, stream);
    }
  };
  print(stalls ? "Top GPU symbols" : "Top kernels and copies", summary.work);
  print("Top call paths (innermost first)", summary.call_paths);
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

void print_places(const Summary& summary, size_t width, TextStream& stream) {
  if (summary.sample_places.empty()) {
    return;
  }
  std::string columns;
  append_right("%", kPercent, columns);
  append_right("samples", kCount, columns);
  columns += "  ";
  std::string& out = stream.text();
  out.append("\nTop places in GPU code\n").append(columns).append("place\n");
  const size_t room = std::max(kMinNameWidth, width > columns.size() ? width - columns.size() : 0);
  for (const analyze::PlaceLine& place : summary.sample_places) {
    append_right(percent_text(place.samples, summary.info.samples), kPercent, out);
    append_right(count_text(place.samples), kCount, out);
    out.append("  ").append(cut_middle(place_text(place), room)).append("\n");
    stream.checkpoint();
  }
}

void print_samples(const Summary& summary, size_t width, TextStream& stream) {
  const Weight total{.count = summary.info.samples};
  CountTable(summary.sampled_work, width, total, "samples").print("Top kernels by samples", stream);
  CountTable(summary.sample_reasons, width, total, "samples").print("Top stall reasons", stream);
  print_places(summary, width, stream);
}

// A line of clauses that are parted by ", ", in as many lines as the width needs.
void print_wrapped(std::string_view line, size_t width, std::string& out) {
  constexpr std::string_view kFirst = "  ";
  constexpr std::string_view kNext = "      ";
  size_t used = kFirst.size();
  out += kFirst;
  while (!line.empty()) {
    const size_t comma = line.find(", ");
    const std::string_view clause = comma == std::string_view::npos ? line : line.substr(0, comma + 1);
    line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 2);
    if (used + clause.size() + 1 > width && used > kNext.size()) {
      out.append("\n").append(kNext);
      used = kNext.size();
    } else if (used > kNext.size()) {
      out += ' ';
      ++used;
    }
    out += clause;
    used += utf8_length(clause);
  }
  out += '\n';
}

void print_trust(const Summary& summary, size_t width, std::string& out) {
  std::vector<std::string> lines = trust_lines(summary.info);
  for (std::string& line : stack_lines(summary.info)) {
    lines.push_back(std::move(line));
  }
  if (lines.empty()) {
    return;
  }
  out += "\nWhat this recording saw and missed\n";
  for (const std::string& line : lines) {
    print_wrapped(line, width, out);
  }
}

}  // namespace

void report_table(const Summary& summary, size_t width, TextStream& stream) {
  std::string& out = stream.text();
  const auto command = summary.info.meta.find("command");
  if (command != summary.info.meta.end()) {
    out += cut_middle("command  " + shown_name(shown_ends(command->second)), std::max<size_t>(width, kMinNameWidth)) +
           "\n";
  }
  out += ending_line(summary.info);
  out += headline(summary);
  print_devices(summary.devices, width, stream);
  if (summary.info.kind != ProfileKind::empty) {
    print_gpu_work(summary, width, stream);
    print_samples(summary, width, stream);
  }
  HostTable(summary.host_work, width).print("Waits, allocations and page faults", stream);
  TimeTable(summary.waits, width, summary.wait_total).print("Top waits for a GPU (innermost first)", stream);
  BytesTable(summary.allocations, width, summary.allocation_total).print("Top allocations (innermost first)", stream);
  print_trust(summary, width, out);
}

}  // namespace gpuprof::output
