#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <set>

#include "base/utf8.h"
#include "output/report.h"

namespace gpuprof::output {
namespace {

using analyze::ProfileKind;
using analyze::Summary;
using analyze::SummaryLine;

constexpr size_t kMinNameWidth = 24;
constexpr size_t kMaxFrameWidth = 60;
constexpr size_t kIndent = 8;
constexpr std::string_view kCaller = " <- ";

std::string time_text(double ns) {
  struct Unit {
    double ns;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits = {{{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1, " ns"}}};
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(), [ns](const Unit& u) { return ns >= u.ns; });
  if (unit == kUnits.end()) {
    unit = &kUnits.back();
  }
  const double value = ns / unit->ns;
  char text[32];
  const int decimals = unit->ns == 1 && value == static_cast<double>(static_cast<uint64_t>(value)) ? 0
                       : value >= 100                                                              ? 1
                                                                                                   : 2;
  std::snprintf(text, sizeof text, "%.*f%s", decimals, value, unit->name);
  return text;
}

// 1234567 -> "1,234,567"
std::string count_text(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string percent_text(uint64_t part, uint64_t whole) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f%%",
                whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

std::string printable(std::string_view name) {
  std::string text;
  append_escaped(name, {}, text);
  return text;
}

void append_right(const std::string& text, size_t width, std::string& out) {
  out.append(width > text.size() ? width - text.size() : 0, ' ').append(text);
}

class Table {
 public:
  Table(const Summary& summary, size_t width) : summary_(summary), width_(width) {
    std::set<std::string_view> processes;
    for (const SummaryLine& line : summary.call_paths) {
      processes.insert(line.process);
    }
    several_processes_ = processes.size() > 1;
    const size_t columns = header().size();
    name_width_ = std::max(kMinNameWidth, width > columns ? width - columns : 0);
  }

  void lines(const char* title, const std::vector<SummaryLine>& lines, std::string& out) const {
    out.append("\n").append(title).append("\n").append(header()).append("name\n");
    for (const SummaryLine& line : lines) {
      append_numbers(line, out);
      out.append(cut_middle(printable(line.work), name_width_)).append("\n");
      if (!line.path.empty()) {
        append_callers(line, out);
      }
    }
  }

 private:
  static constexpr size_t kPercent = 8;
  static constexpr size_t kTime = 11;
  static constexpr size_t kCount = 14;

  [[nodiscard]] std::string header() const {
    std::string out;
    if (!summary_.timed) {
      append_right("%", kPercent, out);
      append_right(summary_.info.kind == ProfileKind::stall_samples ? "samples" : "calls", kCount, out);
      return out + "  ";
    }
    append_right("time %", kPercent, out);
    append_right("time", kTime, out);
    append_right("calls", kCount, out);
    for (const char* column : {"avg", "min", "max"}) {
      append_right(column, kTime, out);
    }
    return out + "  ";
  }

  void append_numbers(const SummaryLine& line, std::string& out) const {
    const auto& [weight, total] = std::pair(line.weight, summary_.total);
    if (!summary_.timed) {
      append_right(percent_text(weight.count, total.count), kPercent, out);
      append_right(count_text(weight.count), kCount, out);
      out += "  ";
      return;
    }
    const double average = weight.count == 0 ? 0 : static_cast<double>(weight.ns) / static_cast<double>(weight.count);
    append_right(percent_text(weight.ns, total.ns), kPercent, out);
    append_right(time_text(static_cast<double>(weight.ns)), kTime, out);
    append_right(count_text(weight.count), kCount, out);
    append_right(time_text(average), kTime, out);
    append_right(time_text(static_cast<double>(line.min_ns)), kTime, out);
    append_right(time_text(static_cast<double>(line.max_ns)), kTime, out);
    out += "  ";
  }

  // Below the line's numbers: the callers of its work, innermost first, as many as there is room for.
  void append_callers(const SummaryLine& line, std::string& out) const {
    std::string text(kIndent, ' ');
    if (several_processes_) {
      text += cut_middle(printable(line.process), kMaxFrameWidth) + ":";
    }
    size_t used = utf8_length(text);
    size_t frames = 0;
    for (auto frame = line.path.rbegin(); frame != line.path.rend(); ++frame, ++frames) {
      const std::string part = cut_middle(printable(*frame), kMaxFrameWidth);
      const size_t needed = kCaller.size() + utf8_length(part);
      const size_t kept_free = std::next(frame) == line.path.rend() ? 0 : kCaller.size() + 3;
      if (frames > 0 && used + needed + kept_free > width_) {
        text.append(kCaller).append("...");
        break;
      }
      text.append(kCaller).append(part);
      used += needed;
    }
    out.append(text).append("\n");
  }

  const Summary& summary_;
  size_t width_;
  bool several_processes_ = false;
  size_t name_width_ = 0;
};

std::string headline(const Summary& summary) {
  switch (summary.info.kind) {
    case ProfileKind::empty:
      return "no GPU work was recorded\n";
    case ProfileKind::stall_samples:
      return count_text(summary.total.count) + " stall samples\n";
    case ProfileKind::launch_counts:
      return count_text(summary.total.count) + " launches; counts only, this profile has no GPU times\n";
    case ProfileKind::durations:
    case ProfileKind::mixed:
      break;
  }
  return "GPU time " + time_text(static_cast<double>(summary.total.ns)) + " in " +
         count_text(summary.info.gpu_records) + " operations, " +
         percent_text(summary.info.with_stack, summary.info.gpu_records) + " of them with a CPU stack\n";
}

}  // namespace

std::string report_table(const Summary& summary, size_t width) {
  std::string out;
  const auto command = summary.info.meta.find("command");
  if (command != summary.info.meta.end()) {
    out = cut_middle("command  " + printable(command->second), std::max<size_t>(width, kMinNameWidth)) + "\n";
  }
  out += headline(summary);
  if (summary.info.kind == ProfileKind::empty) {
    return out;
  }
  const Table table(summary, width);
  const bool stalls = summary.info.kind == ProfileKind::stall_samples;
  table.lines(stalls ? "Top GPU symbols" : "Top kernels and copies", summary.work, out);
  table.lines("Top call paths (innermost first)", summary.call_paths, out);
  return out;
}

}  // namespace gpuprof::output
