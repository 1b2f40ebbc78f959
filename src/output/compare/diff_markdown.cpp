#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/names/labels.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/compare/diff.h"
#include "output/compare/stall_texts.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using compare::Difference;
using compare::RunFacts;

constexpr size_t kMostName = 120;
constexpr size_t kMostFrames = 6;  // number of frames that are shown of a path, counted from the kernel

// Formats printable text as a code span. The text cannot end the span or the table cell, or become a link.
std::string span(std::string plain) {
  std::replace(plain.begin(), plain.end(), '`', '\'');
  std::string out = "`";
  for (const char c : plain) {
    out.append(c == '|' ? "\\|" : std::string_view(&c, 1));
  }
  return out + "`";
}

std::string code(std::string_view text) {
  return span(cut_middle(shown_name(shown_ends(text)), kMostName));
}

class Markdown {
 public:
  Markdown(const DiffLines& lines, const DiffOptions& options, TextStream& stream)
      : lines_(lines), all_(lines.all), options_(options), stream_(stream), out_(stream.text()) {}

  void write() {
    const Difference& total = lines_.total;
    std::string measure = lines_.measured();
    measure[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(measure[0])));
    out_ += "### " + measure + ": " + value_text(total.before.value, lines_.timed) + " → " +
            value_text(total.after.value, lines_.timed);
    out_ += total.change == 0
                ? ", unchanged\n\n"
                : " (" + signed_value(total.change, lines_.timed) + ", " + change_percent(total) + ")\n\n";
    facts();
    if (lines_.nothing_differs()) {
      out_ += nothing_text(lines_) + "\n";
      return;
    }
    table(lines_.measure() == analyze::Measure::gpu ? "Kernel" : "Reason", lines_.kernels,
          [this](uint32_t line) { return kernel(all_.kernels[line]); });
    table("Function, including callees", significant_functions(lines_),
          [this](uint32_t line) { return function(all_.functions[line]); });
    table("Call path", lines_.paths, [this](uint32_t line) { return path(all_.paths[line]); });
  }

 private:
  void fact(const char* what, const std::string& before, const std::string& after) {
    if (!before.empty() || !after.empty()) {
      const auto known = [](const std::string& text) { return text.empty() ? std::string("unknown") : code(text); };
      out_ += std::string("- ") + what + ": " + known(before) + (before == after ? "" : " → " + known(after)) + "\n";
    }
  }

  void facts() {
    const auto before = side_of(all_, true);
    const auto after = side_of(all_, false);
    out_ += "- runs: " + std::to_string(before.size()) + " → " + std::to_string(after.size()) + "\n";
    fact("command", joined_fact(before, &RunFacts::command), joined_fact(after, &RunFacts::command));
    fact("device", joined_devices(before), joined_devices(after));
    fact("driver", joined_fact(before, &RunFacts::driver), joined_fact(after, &RunFacts::driver));
    fact("commit", joined_fact(before, &RunFacts::commit), joined_fact(after, &RunFacts::commit));
    out_ += "\n";
  }

  template <typename Name>
  void table(const char* title, const std::vector<DiffLine>& all, Name name) {
    std::vector<DiffLine> changed;
    std::copy_if(all.begin(), all.end(), std::back_inserter(changed),
                 [](const DiffLine& line) { return line.difference.change != 0; });
    if (changed.empty()) {
      return;
    }
    const size_t shown = options_.top == 0 ? changed.size() : std::min(changed.size(), options_.top);
    out_ += std::string("| ") + title + " | old | new | change | % |" +
            (lines_.of_launches() ? " by launches | by duration |\n" : "\n") + "|---|---:|---:|---:|---:|" +
            (lines_.of_launches() ? "---:|---:|\n" : "\n");
    for (size_t at = 0; at < shown; ++at) {
      const Difference& line = changed[at].difference;
      out_ += "| " + name(changed[at].line) + " | " + value_text(line.before.value, lines_.timed) + " | " +
              value_text(line.after.value, lines_.timed) + " | " + signed_value(line.change, lines_.timed) + " | " +
              change_percent(line) + " |";
      if (lines_.of_launches()) {
        out_ += " " + signed_value(line.by_launches, true) + " | " + signed_value(line.by_duration, true) + " |";
      }
      out_ += "\n";
      stream_.checkpoint();
    }
    if (shown < changed.size()) {
      out_ += "\n" + count_text(changed.size() - shown) + " more\n";
    }
    out_ += "\n";
  }

  static std::string mark(compare::Change change) {
    const std::string_view word = change_word(change);
    return word.empty() ? "" : "**" + std::string(word) + "** ";
  }

  [[nodiscard]] std::string kernel_code(const std::string& name) const {
    return span(kernel_text(name, options_.full_names, kMostName));
  }

  [[nodiscard]] std::string kernel(const compare::KernelLine& line) const {
    const std::string was =
        line.old_name.empty() ? "" : ", was " + span(old_kernel_text(line, options_.full_names, kMostName));
    std::string text = mark(line.change) + kernel_code(line.name) + was;
    const auto changes = lines_.stalls ? stall_changes(all_, line) : std::vector<std::string>();
    for (const std::string& change : changes) {
      text += (&change == &changes.front() ? "; stalls: " : ", ") + span(change);
    }
    return text;
  }

  static std::string function(const compare::FunctionLine& line) {
    const std::string name(analyze::without_parameters(line.name));
    const std::string file = line.file.empty() ? "" : " (" + line.file + ")";
    return mark(line.change) + code(name + file) + (line.old_name.empty() ? "" : ", was " + code(line.old_name));
  }

  [[nodiscard]] std::string path(const compare::PathLine& line) const {
    std::string text = mark(line.change) + kernel_code(all_.kernels[line.kernel].name);
    size_t frames = 0;
    for (auto function = line.functions.rbegin(); function != line.functions.rend() && frames < kMostFrames;
         ++function, ++frames) {
      text += " ← " + code(analyze::without_parameters(all_.functions[*function].name));
    }
    return text + (line.functions.size() > kMostFrames ? " ← ..." : "");
  }

  const DiffLines& lines_;
  const compare::Comparison& all_;
  const DiffOptions& options_;
  TextStream& stream_;
  std::string& out_;
};

}  // namespace

void diff_markdown(const DiffLines& lines, const DiffOptions& options, TextStream& out) {
  Markdown(lines, options, out).write();
}

}  // namespace gpuprof::output
