#include <algorithm>
#include <span>

#include "base/numbers.h"
#include "base/utf8.h"
#include "output/annotate.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using analyze::LaunchingFile;
using analyze::LaunchingLine;
using analyze::LaunchingLines;
using analyze::Weight;

constexpr size_t kColumn = 10;
constexpr uint32_t kContext = 2;  // lines before and after one that launches

class Listing {
 public:
  Listing(const LaunchingLines& lines, const FindSource& find, TextStream& stream)
      : lines_(lines), find_(find), stream_(stream) {}

  void print(size_t most) {
    put(value_text(lines_.all) + (lines_.timed ? " of GPU time" : " launches") +
        ": self is what a line launches itself, total what is launched below it, too");
    tell_missing(lines_.without_stack, "was launched without a CPU stack");
    tell_missing(lines_.without_lines, "was launched from stacks without any known source line");
    const size_t shown = most == 0 ? lines_.files.size() : std::min(most, lines_.files.size());
    for (const LaunchingFile& file : std::span(lines_.files).first(shown)) {
      print_file(file);
    }
    if (shown < lines_.files.size()) {
      put("");
      put("... " + count_text(lines_.files.size() - shown) + " more files (see --limit)");
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

  void tell_missing(const Weight& weight, const char* what) {
    if (value(weight) > 0) {
      put(share(weight) + " of it " + what);
    }
  }

  // Empty where there is nothing.
  [[nodiscard]] std::string cells(const Weight& self, const Weight& total, const std::string& number) const {
    std::string text;
    for (const Weight& weight : {self, total}) {
      append_right(value(weight) == 0 ? "" : value_text(weight), kColumn, text);
      append_right(value(weight) == 0 ? "" : share(weight), kColumn, text);
    }
    append_right(number, kColumn, text);
    return text + "  ";
  }

  void print_file(const LaunchingFile& file) {
    const SourceText& source = find_(file.file);
    std::string titles;
    for (const char* const title : {"self", "share", "total", "share", "line"}) {
      append_right(title, kColumn, titles);
    }
    put("");
    put(titles + "  " + shown_name(shown_text(file.file)));
    if (!source.why_not.empty()) {
      put(cells({}, {}, "") + "(line numbers only, " + source.why_not + ")");
    }
    uint32_t next = 0;  // the first line that is not shown yet
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const LaunchingLine& line = file.lines[i];
      const uint32_t first = std::max(next, line.line - std::min(line.line, kContext));
      if (next != 0 && first > next && !source.lines.empty()) {
        put(cells({}, {}, "") + "...");
      }
      print_plain(source, std::max(first, 1U), line.line);
      const std::string text = source_line(source, line.line);
      put(cells(line.self, line.total, std::to_string(line.line)) +
          (source.lines.empty() ? "in " + shown_name(shown_ends(line.function)) : text));
      const uint32_t limit = i + 1 < file.lines.size() ? file.lines[i + 1].line : UINT32_MAX;
      next = line.line == UINT32_MAX ? line.line : line.line + 1;
      const uint32_t after = std::min(limit, next > UINT32_MAX - kContext ? UINT32_MAX : next + kContext);
      print_plain(source, next, after);
      next = std::max(next, std::min(after, static_cast<uint32_t>(source.lines.size()) + 1));
    }
  }

  void print_plain(const SourceText& source, uint32_t begin, uint32_t end) {
    for (uint32_t line = begin; line < end && line <= source.lines.size(); ++line) {
      put(cells({}, {}, std::to_string(line)) + source_line(source, line));
    }
  }

  const LaunchingLines& lines_;
  const FindSource& find_;
  TextStream& stream_;
};

}  // namespace

void annotate_cpu_text(const LaunchingLines& lines, size_t files, const FindSource& find, TextStream& stream) {
  Listing(lines, find, stream).print(files);
}

}  // namespace gpuprof::output
