#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/annotate.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using analyze::LaunchingFile;
using analyze::LaunchingLine;
using analyze::LaunchingLines;
using analyze::Weight;

constexpr size_t kCpuColumn = 10;

// Returns "in step", "in step<2> and in step<1>" or "in 8 functions (most in step<2>)".
std::string functions_of(const LaunchingLine& line) {
  const size_t all = line.functions.size();
  const auto name = [&line](size_t i) { return shown_name(shown_ends(line.functions[i])); };
  return all > 2 ? "in " + count_text(all) + " functions (most in " + name(0) + ")"
                 : "in " + name(0) + (all == 2 ? " and in " + name(1) : "");
}

class CpuListing {
 public:
  CpuListing(const LaunchingLines& lines, const FindSource& find, TextStream& stream)
      : lines_(lines), find_(find), stream_(stream) {}

  void print(size_t most) {
    put(value_text(lines_.all) + (lines_.timed ? " of GPU time" : " launches") +
        ": self counts what a line itself launches, total also what its callees launch");
    put_missing(lines_.without_stack, "was launched without a CPU stack");
    put_missing(lines_.without_lines, "was launched from stacks without any known source line");
    const size_t shown = most == 0 ? lines_.files.size() : std::min(most, lines_.files.size());
    for (const LaunchingFile& file : std::span(lines_.files).first(shown)) {
      print_file(file);
    }
    if (shown < lines_.files.size()) {
      put("");
      put("... " + counted_text(lines_.files.size() - shown, "more file") + " (see --limit)");
    }
  }

 private:
  void put(const std::string& text) {
    stream_.text().append(text, 0, text.find_last_not_of(' ') + 1).append("\n");
    stream_.checkpoint();
  }

  [[nodiscard]] uint64_t value(const Weight& weight) const { return lines_.timed ? weight.ns : weight.count; }
  [[nodiscard]] std::string value_text(const Weight& weight) const {
    return lines_.timed ? duration_text(weight.ns) : count_text(weight.count);
  }
  [[nodiscard]] std::string share(const Weight& weight) const { return percent_text(value(weight), value(lines_.all)); }

  // Formats how far the total of the line may be off, in percent of the total.
  [[nodiscard]] std::string margin(const LaunchingLine& line) const {
    const auto margin = line.uncertainty.margin();
    return !margin           ? "?"
           : margin->is_rare ? "rare"
                             : percent_text(lines_.timed ? margin->ns : margin->count, value(line.total));
  }

  void put_missing(const Weight& weight, const char* what) {
    if (value(weight) > 0) {
      put(share(weight) + " of it " + what);
    }
  }

  // Returns the columns before the line number. The cell of a weight of 0 is empty.
  [[nodiscard]] std::string cells(const LaunchingLine& line, const std::string& number) const {
    std::string text;
    for (const Weight& weight : {line.self, line.total}) {
      append_right(value(weight) == 0 ? "" : value_text(weight), kCpuColumn, text);
      append_right(value(weight) == 0 ? "" : share(weight), kCpuColumn, text);
    }
    if (lines_.estimated) {
      append_right(value(line.total) == 0 ? "" : margin(line), kCpuColumn, text);
    }
    append_right(number, kCpuColumn, text);
    return text + "  ";
  }

  void print_file(const LaunchingFile& file) {
    const SourceText& source = find_(file.file);
    std::string titles;
    for (const char* const title : {"self", "share", "total", "share", "+-", "line"}) {
      if (lines_.estimated || title != std::string_view("+-")) {
        append_right(title, kCpuColumn, titles);
      }
    }
    put("");
    put(titles + "  " + shown_name(shown_text(file.file)));
    if (!source.why_not.empty()) {
      put(cells({}, "") + "(line numbers only, " + source.why_not + ")");
    }
    std::vector<uint32_t> numbered;
    for (const LaunchingLine& line : file.lines) {
      numbered.push_back(line.line);
    }
    const auto put_line = [&](size_t i) {
      const LaunchingLine& line = file.lines[i];
      put(cells(line, std::to_string(line.line)) +
          (source.ends.empty() ? functions_of(line) : source_line(source, line.line)));
    };
    list_lines(
        source, numbered, put_line,
        [&](uint32_t line) { put(cells({}, std::to_string(line)) + source_line(source, line)); },
        [&] {
          if (!source.ends.empty()) {
            put(cells({}, "") + "...");
          }
        });
  }

  const LaunchingLines& lines_;
  const FindSource& find_;
  TextStream& stream_;
};

}  // namespace

void annotate_cpu_text(const LaunchingLines& lines, size_t files, const FindSource& find, TextStream& stream) {
  CpuListing(lines, find, stream).print(files);
}

}  // namespace gpuprof::output
