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

// Formats a duration: "1.23 ms". A duration too long for a column is in hours: "5.1M h".
std::string short_duration(uint64_t ns);

// Returns the last `width` characters of the text, with "..." before them if the text was cut.
std::string cut_front(const std::string& text, size_t width);

// Return how many characters are left for a name.
size_t width_behind(size_t numbers, size_t width);  // the name is in the same line, after `numbers` columns
size_t width_below(size_t width);                   // the name is in the line below its numbers
size_t width_beside(size_t width);                  // the name is in the same line as the numbers of a work item

inline constexpr size_t kWide = 100;  // wider screens show more numbers

// Returns how many columns of numbers a kernel has: four if it must fit in one line on a narrow screen, otherwise six.
size_t work_numbers(size_t width, bool one_line);

// How to shorten a name: `signature` keeps the informative parts, `plain` cuts out the middle.
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
  // Returns true if the number of the report's lines is limited.
  [[nodiscard]] bool fits() const { return options_.lines != 0; }
  [[nodiscard]] bool explain() const { return options_.explain; }
  // Returns true if call paths also show frames without a useful name, and startup code.
  [[nodiscard]] bool all_frames() const { return options_.full || options_.from_start; }

  // Writes a line such as "host     node1, 2026-11-23". The first word makes the fact easy to find.
  void fact(std::string_view word, const std::string& text);
  // Like fact(), but continues on further lines, so that no word of the text is cut. Only very long texts are.
  void long_fact(std::string_view word, const std::string& text);
  // Writes an empty line and a title. If not all lines are shown, the title has both numbers: "Top kernels (5 of 34)".
  void title(std::string_view text, size_t shown, size_t found);
  void line(const std::string& text);
  void dim_line(const std::string& text);
  // Writes a text that consists of clauses separated by ", ", in as many lines as the width needs. The first line
  // starts with `indent`.
  void clauses(std::string_view text, std::string_view indent);

  // Writes sentences in as many lines as the width needs. The first line is indented by two blanks, the others by four.
  void prose(std::string_view text);

  [[nodiscard]] std::string name(std::string_view name, size_t width, Naming naming = Naming::signature) const;

  [[nodiscard]] size_t name_width(size_t numbers) const;

  void columns(const std::vector<std::string>& columns, std::string_view name);
  // Writes numbers and a text. If the text does not fit after the numbers, it is written in the next line.
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
