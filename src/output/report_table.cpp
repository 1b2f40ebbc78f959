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
constexpr size_t kMaxFrameWidth = 44;
constexpr size_t kIndent = 8;
constexpr std::string_view kCaller = " <- ";
constexpr std::string_view kLeftOut = "...";

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

// A frame that tells a reader nothing: no function is known ("[libcuda.so.1+0x12ab]", "0x7f12", "[unknown]"), or it is
// how every thread starts.
bool tells_nothing(std::string_view frame) {
  static constexpr std::array<std::string_view, 8> kStart = {
      "_start",       "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "__clone3", "clone3",
      "start_thread", "[unknown]"};
  const bool no_symbol = frame.starts_with("[") && frame.ends_with("]") && frame.find("+0x") != frame.npos;
  return no_symbol || frame.starts_with("0x") || std::find(kStart.begin(), kStart.end(), frame) != kStart.end();
}

// "ns::f<int>(int, char const*) const" -> "ns::f<int>": a path has room for a few names, not for their parameters.
std::string_view without_parameters(std::string_view name) {
  std::string_view head =
      name.substr(0, name.ends_with(") const") ? name.size() - std::string_view(" const").size() : name.size());
  if (!head.ends_with(")")) {
    return name;
  }
  size_t depth = 0;
  while (!head.empty()) {
    const char c = head.back();
    head.remove_suffix(1);
    depth += c == ')' ? 1 : 0;
    depth -= c == '(' ? 1 : 0;
    if (depth == 0) {
      break;
    }
  }
  // "operator()" alone has no parameters, and a name does not consist of them.
  return head.empty() || depth != 0 || head.ends_with("operator") || head.ends_with(" ") ? name : head;
}

// What is shown of a path, innermost first.
std::vector<std::string> telling_frames(const std::vector<std::string>& path) {
  std::vector<std::string> frames;
  for (const bool all : {false, true}) {
    for (auto frame = path.rbegin(); frame != path.rend(); ++frame) {
      if (all || !tells_nothing(*frame)) {
        frames.push_back(cut_middle(printable(without_parameters(*frame)), kMaxFrameWidth));
      }
    }
    if (!frames.empty()) {
      break;  // otherwise anything is better than nothing
    }
  }
  return frames;
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

  // Below the line's numbers: the callers of its work, innermost first. Where there is no room for all, those in the
  // middle are left out: the ends are the API that was called and the user's own code.
  void append_callers(const SummaryLine& line, std::string& out) const {
    std::string text(kIndent, ' ');
    if (several_processes_) {
      text += cut_middle(printable(line.process), kMaxFrameWidth) + ":";
    }
    const std::vector<std::string> frames = telling_frames(line.path);
    const size_t kept_free = utf8_length(text) + kCaller.size() + kLeftOut.size();
    size_t room = width_ > kept_free ? width_ - kept_free : 0;
    size_t inner = 0;
    size_t outer = 0;
    while (inner + outer < frames.size()) {
      const bool take_outer = inner > outer;
      const std::string& next = take_outer ? frames[frames.size() - 1 - outer] : frames[inner];
      const size_t needed = kCaller.size() + utf8_length(next);
      const bool is_last = inner + outer + 1 == frames.size();  // then nothing is left out
      if (inner > 0 && needed > room + (is_last ? kCaller.size() + kLeftOut.size() : 0)) {
        break;
      }
      room -= std::min(room, needed);
      ++(take_outer ? outer : inner);
    }
    for (size_t i = 0; i < frames.size(); ++i) {
      if (i < inner || i >= frames.size() - outer) {
        text.append(kCaller).append(frames[i]);
      } else if (i == inner) {
        text.append(kCaller).append(kLeftOut);
      }
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
