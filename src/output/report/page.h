// The lines of a report: columns of numbers with a name behind them, in a width. Internal to the report.
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

// "1.23 ms"; hours for what is longer than any column: "5.1M h".
std::string short_duration(uint64_t ns);

// The last `width` characters, with "..." before them where that is not all.
std::string cut_front(const std::string& text, size_t width);

// What is left for a name behind so many numbers, in a line of its own, and beside the numbers of any table of work.
size_t width_behind(size_t numbers, size_t width);
size_t width_below(size_t width);
size_t width_beside(size_t width);

// How many numbers a line of work has: two of six go where it must be one line of a narrow screen.
size_t work_numbers(size_t width, bool one_line);

// What a name is: of a signature only what people read is shown, anything else is cut in the middle.
enum class Naming : uint8_t { signature, plain };

class Page {
 public:
  // All must outlive it.
  Page(const ReportOptions& options, const Detail& detail, const Names& names, TextStream& stream)
      : options_(options), detail_(detail), names_(names), stream_(stream) {}

  [[nodiscard]] size_t width() const { return options_.width; }
  [[nodiscard]] const Detail& detail() const { return detail_; }
  [[nodiscard]] const Names& names() const { return names_; }
  [[nodiscard]] bool full() const { return options_.full; }
  // It is made to be no longer than some lines.
  [[nodiscard]] bool fits() const { return options_.lines != 0; }
  [[nodiscard]] bool explain() const { return options_.explain; }
  // Also those that tell nothing.
  [[nodiscard]] bool all_frames() const { return options_.full || options_.from_start; }

  // "host     node1, 2026-11-23": what a reader looks for by its first word.
  void fact(std::string_view word, const std::string& text);
  // An empty line and a title; where there are more than `shown` lines: "Top kernels (5 of 34)".
  void title(std::string_view text, size_t shown, size_t found);
  void line(const std::string& text);
  void dim_line(const std::string& text);
  // Clauses that are parted by ", ", in as many lines as the width needs; the first one behind `indent`.
  void clauses(std::string_view text, std::string_view indent);

  // Sentences, in as many lines as the width needs, each behind two blanks; those after the first behind four.
  void prose(std::string_view text);

  // A name as it is shown where it may take `width` characters.
  [[nodiscard]] std::string name(std::string_view name, size_t width, Naming naming = Naming::signature) const;

  // What a line may have behind its numbers.
  [[nodiscard]] size_t name_width(size_t numbers) const;

  // Names of columns over those of `row`.
  void columns(const std::vector<std::string>& columns, std::string_view name);
  // The text goes behind the numbers, or below them where it does not fit there.
  void row(const std::vector<std::string>& numbers, const std::string& text);
  // A line of work, by its name.
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
