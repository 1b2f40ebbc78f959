// Formats the lines of a report: columns of numbers, then a name, within a width. Internal to the report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text_stream.h"
#include "output/report/fit.h"
#include "output/report/names.h"
#include "output/report/report.h"

namespace gpuprof::output {

// Returns "1.23 ms". Durations that exceed any column are in hours: "5.1M h".
std::string short_duration(uint64_t ns);

// Returns the last `width` characters, after "..." if the text was cut.
std::string cut_front(const std::string& text, size_t width);

// Return the width left for a name.
size_t width_behind(size_t numbers, size_t width);  // in the same line, after `numbers` columns
size_t width_below(size_t width);                   // in the line below its numbers
size_t width_beside(size_t width);                  // in the same line as a work item's numbers

// Returns how many number columns a kernel has: four if it must fit in one line on a narrow screen, else six.
size_t work_numbers(size_t width, bool one_line);

// How to shorten a name: `signature` keeps the parts that people read, `plain` cuts out the middle.
enum class Naming : uint8_t { signature, plain };

class Page {
 public:
  // All arguments must outlive the page.
  Page(const ReportOptions& options, const Detail& detail, const Names& names, TextStream& stream)
      : options_(options), detail_(detail), names_(names), stream_(stream) {}

  [[nodiscard]] size_t width() const { return options_.width; }
  [[nodiscard]] const Detail& detail() const { return detail_; }
  [[nodiscard]] const Names& names() const { return names_; }
  [[nodiscard]] bool full() const { return options_.full; }
  // Returns whether the report has a limited number of lines.
  [[nodiscard]] bool fits() const { return options_.lines != 0; }
  [[nodiscard]] bool explain() const { return options_.explain; }
  // Returns whether call paths also show uninformative frames: unnamed frames and startup code.
  [[nodiscard]] bool all_frames() const { return options_.full || options_.from_start; }

  // Writes "host     node1, 2026-11-23". The word makes the fact easy to find.
  void fact(std::string_view word, const std::string& text);
  // Writes an empty line and a title. If found > shown: "Top kernels (5 of 34)".
  void title(std::string_view text, size_t shown, size_t found);
  void line(const std::string& text);
  void dim_line(const std::string& text);
  // Writes clauses separated by ", ", in as many lines as the width needs. The first line starts with `indent`.
  void clauses(std::string_view text, std::string_view indent);

  // Writes sentences in as many lines as the width needs. The first line is indented by two blanks, others by four.
  void prose(std::string_view text);

  [[nodiscard]] std::string name(std::string_view name, size_t width, Naming naming = Naming::signature) const;

  [[nodiscard]] size_t name_width(size_t numbers) const;

  void columns(const std::vector<std::string>& columns, std::string_view name);
  // Writes numbers and a text. The text moves to the next line if it does not fit after the numbers.
  void row(const std::vector<std::string>& numbers, const std::string& text);
  void work_row(const std::vector<std::string>& numbers, std::string_view work) {
    row(numbers, names_.work(work, detail_.one_line));
  }

 private:
  const ReportOptions& options_;
  const Detail& detail_;
  const Names& names_;
  TextStream& stream_;
};

}  // namespace gpuprof::output
