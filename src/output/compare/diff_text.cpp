#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/names/labels.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/compare/check_texts.h"
#include "output/compare/diff.h"
#include "output/compare/stall_texts.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using compare::Change;
using compare::Difference;
using compare::FunctionLine;
using compare::KernelLine;
using compare::PathLine;
using compare::RunFacts;

constexpr size_t kDiffValue = 9;
constexpr size_t kChange = 10;
constexpr size_t kPercent = 8;
constexpr size_t kWide = 100;      // in narrower lines, the columns for launches and duration are omitted
constexpr size_t kLeastName = 24;  // minimum width of a name, even if the line then becomes too long

// Returns "before -> after" in at most `width` characters. If it is too long, cuts off the words with which both begin,
// and then cuts both sides.
std::string arrow_text(std::string before, std::string after, size_t width) {
  constexpr std::string_view kArrow = " -> ";
  constexpr std::string_view kCut = "... ";
  width -= kArrow.size();
  if (utf8_length(before) + utf8_length(after) > width) {
    const auto differ = std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first;
    const auto same = static_cast<size_t>(differ - before.begin());
    const size_t words = same == 0 ? 0 : before.rfind(' ', same - 1) + 1;  // 0 if the first words differ
    if (words > kCut.size()) {
      before.replace(0, words, kCut);
      after.replace(0, words, kCut);
    }
    const size_t half = width / 2;
    const size_t longest_old = width - std::min(utf8_length(after), half);
    const size_t longest_new = width - std::min(utf8_length(before), longest_old);
    before = cut_middle(before, longest_old);
    after = cut_middle(after, longest_new);
  }
  return before.append(kArrow).append(after);
}

class Text {
 public:
  Text(const DiffLines& lines, const DiffOptions& options, TextStream& stream)
      : lines_(lines), all_(lines.all), options_(options), stream_(stream), out_(stream.text()) {}

  void write() {
    write_header();
    if (lines_.nothing_differs()) {
      out_ += "\n" + nothing_text(lines_) + "\n";
      return;
    }
    table(lines_.measure() == analyze::Measure::gpu ? "Kernels" : "Reasons", lines_.kernels,
          [this](uint32_t line, size_t width_left) { return kernel(all_.kernels[line], width_left); });
    table("Functions, including callees", significant_functions(lines_),
          [this](uint32_t line, size_t width_left) { return function(all_.functions[line], width_left); });
    table("Call paths", lines_.paths,
          [this](uint32_t line, size_t width_left) { return path(all_.paths[line], width_left); });
    out_ += !lines_.of_launches() ? ""
                                  : "\nlaunches: the change by more or fewer launches of each call path, each as long\n"
                                    "as before; the rest is the change by longer or shorter launches.\n";
  }

 private:
  [[nodiscard]] bool wide() const { return options_.width >= kWide && lines_.of_launches(); }

  void put_fact(const char* what, const std::string& before, const std::string& after) {
    if (before.empty() && after.empty()) {
      return;
    }
    const auto known = [](const std::string& text) {
      return text.empty() ? "not known" : shown_name(shown_ends(text));
    };
    const size_t width_left = std::max(options_.width, kLeastName) - 9;
    out_ += what +
            (before == after ? cut_middle(known(before), width_left)
                             : arrow_text(known(before), known(after), width_left)) +
            "\n";
  }

  static std::string files_text(std::span<const RunFacts* const> runs) {
    std::string text = runs.size() == 1 ? "" : std::to_string(runs.size()) + " runs: ";
    for (const RunFacts* run : runs) {
      text.append(run == runs.front() ? "" : ", ").append(run->file);
    }
    return text;
  }

  void write_header() {
    const auto before = side_of(all_, true);
    const auto after = side_of(all_, false);
    put_fact("old      ", files_text(before), files_text(before));
    put_fact("new      ", files_text(after), files_text(after));
    put_fact("command  ", joined_fact(before, &RunFacts::command), joined_fact(after, &RunFacts::command));
    put_fact("device   ", joined_devices(before), joined_devices(after));
    put_fact("driver   ", joined_fact(before, &RunFacts::driver), joined_fact(after, &RunFacts::driver));
    put_fact("commit   ", joined_fact(before, &RunFacts::commit), joined_fact(after, &RunFacts::commit));
    put_fact("date     ", joined_dates(before), joined_dates(after));
    const Difference& total = lines_.total;
    out_ += std::string("\n") + lines_.measured() + " " + value_text(total.before.value, lines_.timed) + " -> " +
            value_text(total.after.value, lines_.timed);
    if (total.change != 0) {
      out_ += ", " + signed_value(total.change, lines_.timed) + " (" + change_percent(total) + ")";
    }
    out_ += lines_.filtered ? ", of the selected paths\n" : "\n";
    if (lines_.of_launches() && total.change != 0) {
      out_ += "         " + signed_value(total.by_launches, true) + " by more or fewer launches, " +
              signed_value(total.by_duration, true) + " by longer or shorter ones\n";
    }
    if (lines_.of_launches()) {
      out_ += "launches " + count_text(rounded_count(total.before)) + " -> " + count_text(rounded_count(total.after)) +
              "\n";
    }
    write_rates(recorded_ns(before), recorded_ns(after));
    if (before.size() > 1 || after.size() > 1) {
      out_ += "runs     " + spread(total.before) + " -> " + spread(total.after) + "; numbers below are means\n";
    }
  }

  // Returns the mean recorded time of a side's runs; 0 if it is unknown for one of them.
  static double recorded_ns(std::span<const RunFacts* const> runs) {
    double sum = 0;
    for (const RunFacts* run : runs) {
      if (run->window_ns == 0) {
        return 0;
      }
      sum += static_cast<double>(run->window_ns);
    }
    return sum / static_cast<double>(std::max<size_t>(runs.size(), 1));
  }

  // Writes the rate of launched GPU time or of counts, if one side was recorded longer than the other. Work that was
  // launched in a window counts in full, even if it ran after the window. So the rate is that of launching, and not how
  // busy the devices were.
  void write_rates(double old_ns, double new_ns) {
    constexpr double kSimilar = 0.05;
    if (old_ns <= 0 || new_ns <= 0 || std::abs(new_ns / old_ns - 1) <= kSimilar) {
      return;
    }
    const double before = 1e9 * static_cast<double>(lines_.total.before.value) / old_ns;
    const double after = 1e9 * static_cast<double>(lines_.total.after.value) / new_ns;
    out_ += "recorded " + mean_duration_text(old_ns) + " -> " + mean_duration_text(new_ns) + "\nrate     ";
    out_ += lines_.timed
                ? std::string(lines_.of_launches() ? "launched " : "") + "per second: " + mean_duration_text(before) +
                      " -> " + mean_duration_text(after) + " of " + lines_.measured()
                : fmt::format("{} per second: {:.1f} -> {:.1f}", lines_.counted(), before, after);
    out_ += before > 0 ? fmt::format(" ({:+.1f}%)\n", 100 * (after / before - 1)) : "\n";
  }

  [[nodiscard]] std::string spread(const compare::SideCost& side) const {
    return side.least == side.most
               ? value_text(side.most, lines_.timed)
               : value_text(side.least, lines_.timed) + " to " + value_text(side.most, lines_.timed);
  }

  template <typename Name>
  void table(const char* title, const std::vector<DiffLine>& all, Name name) {
    std::vector<DiffLine> changed;
    std::copy_if(all.begin(), all.end(), std::back_inserter(changed), [](const DiffLine& line) {
      return line.difference.change != 0 || line.difference.before.count != line.difference.after.count;
    });
    if (changed.empty()) {
      return;
    }
    const size_t shown = options_.top == 0 ? changed.size() : std::min(changed.size(), options_.top);
    std::string head;
    append_right("change", kChange, head);
    append_right("%", kPercent, head);
    append_right("old", kDiffValue, head);
    append_right("new", kDiffValue, head);
    if (lines_.of_launches()) {
      append_right("launches", kChange, head);
    }
    if (wide()) {
      append_right("duration", kChange, head);
    }
    const size_t width_left = std::max(kLeastName, options_.width - std::min(options_.width, head.size() + 2));
    out_ += std::string("\n") + title;
    out_ += shown < changed.size() ? ": " + count_text(shown) + " of " + count_text(changed.size()) + " that changed\n"
                                   : "\n";
    out_ += head + "\n";
    for (size_t at = 0; at < shown; ++at) {
      numbers(changed[at].difference);
      out_ += "  " + name(changed[at].line, width_left) + "\n";
      stream_.checkpoint();
    }
  }

  void numbers(const Difference& line) {
    append_right(signed_value(line.change, lines_.timed), kChange, out_);
    append_right(change_percent(line), kPercent, out_);
    append_right(value_text(line.before.value, lines_.timed), kDiffValue, out_);
    append_right(value_text(line.after.value, lines_.timed), kDiffValue, out_);
    if (lines_.of_launches()) {
      append_right(signed_value(line.by_launches, true), kChange, out_);
    }
    if (wide()) {
      append_right(signed_value(line.by_duration, true), kChange, out_);
    }
  }

  // Marks only moved kernels: the percentage column shows "new" and "gone", and a separate line shows an old name.
  static std::string mark(Change change) { return change == Change::moved ? "moved: " : ""; }

  [[nodiscard]] std::string kernel(const KernelLine& line, size_t width_left) const {
    std::string text = kernel_text(line.name, options_.full_names, width_left);
    if (!line.old_name.empty()) {
      const std::string was = "    renamed, was ";
      text +=
          "\n" + was + old_kernel_text(line, options_.full_names, std::max(options_.width, kLeastName) - was.size());
    }
    return text + durations(line) + stalls(line);
  }

  // Formats the percentiles as a line below a kernel. Empty if none changed by more than the width of two buckets.
  [[nodiscard]] std::string durations(const KernelLine& line) const {
    constexpr double kLeastChange = 0.03;
    const auto before = compare::percentiles_of(all_, line, 0).named();
    const auto after = compare::percentiles_of(all_, line, 1).named();
    std::string text;
    bool differs = false;
    for (size_t i = 0; i < before.size(); ++i) {
      const auto& [name, old_ns] = before[i];
      const auto& new_ns = after[i].second;
      if (old_ns && new_ns) {
        text.append(text.empty() ? "\n    each: " : ", ").append(name).append(" ");
        text.append(duration_text(*old_ns)).append(" -> ").append(duration_text(*new_ns));
        const auto change = static_cast<double>(*new_ns) - static_cast<double>(*old_ns);
        differs = differs || std::abs(change) > kLeastChange * static_cast<double>(*old_ns);
      }
    }
    return differs ? text : "";
  }

  // Formats the stall changes as lines below a kernel. Lines break between reasons.
  [[nodiscard]] std::string stalls(const KernelLine& line) const {
    std::string text;
    size_t used = 0;
    const auto changes = lines_.stalls ? stall_changes(all_, line) : std::vector<std::string>();
    for (const std::string& change : changes) {
      const bool begins = text.empty() || used + utf8_length(change) + 3 > options_.width;
      const std::string_view indent = text.empty() ? "\n    stalls: " : "\n      ";
      text.append(&change == &changes.front() ? "" : begins ? "," : ", ").append(begins ? indent : "").append(change);
      used = (begins ? indent.size() - 1 : used + 2) + utf8_length(change);
    }
    return text;
  }

  static std::string function(const FunctionLine& line, size_t width_left) {
    const std::string name(analyze::without_parameters(line.name));
    std::string text = shown_name(shown_ends(name));
    text += line.file.empty() ? "" : " (" + shown_name(shown_ends(line.file)) + ")";
    text += line.old_name.empty() ? "" : ", was " + shown_name(shown_ends(line.old_name));
    return cut_middle(text, width_left);
  }

  // Formats the kernel, and its callers in a second line.
  [[nodiscard]] std::string path(const PathLine& line, size_t width_left) const {
    const std::string begin = mark(line.change);
    std::string text =
        begin + kernel_text(all_.kernels[line.kernel].name, options_.full_names, width_left - begin.size());
    if (line.functions.empty()) {
      return text + "\n    " + std::string(analyze::kNoCpuStack);
    }
    return text + "\n" + callers_text("   ", callers_of(all_, line.functions), std::max(options_.width, kLeastName));
  }

  const DiffLines& lines_;
  const compare::Comparison& all_;
  const DiffOptions& options_;
  TextStream& stream_;
  std::string& out_;
};

}  // namespace

void diff_text(const DiffLines& lines, const DiffOptions& options, TextStream& out) {
  Text(lines, options, out).write();
}

}  // namespace gpuprof::output
