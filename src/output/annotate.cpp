#include "output/annotate.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <vector>

#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/picture/svg_text.h"
#include "output/text.h"
#include "output/trust.h"

namespace gpuprof::output {
namespace {

using analyze::AnnotatedKernel;
using analyze::AnnotatedLine;
using analyze::SampledInstruction;

constexpr size_t kColumn = 9;
constexpr size_t kMostDepth = 64;     // maximum nesting of inlined functions
constexpr size_t kReasonLetters = 8;  // number of letters of a stall reason that a column title shows

// Appends the text right-aligned in its column, with at least one blank before it.
void append_cell(const std::string& text, std::string& out) {
  const size_t length = utf8_length(text);
  out.append(length < kColumn ? kColumn - length : 1, ' ').append(text);
}

class Listing {
 public:
  Listing(const AnnotatedKernel& kernel, const FindSource& find, TextStream& stream)
      : kernel_(kernel), find_(find), stream_(stream) {}

  void print() {
    print_head();
    for (size_t at = 0; at < kernel_.roots.size();) {
      size_t end = at;
      while (end < kernel_.roots.size() && root(end).file == root(at).file) {
        ++end;
      }
      print_file(at, end);
      at = end;
    }
    print_rest();
  }

 private:
  [[nodiscard]] const AnnotatedLine& root(size_t i) const { return kernel_.lines[kernel_.roots[i]]; }
  [[nodiscard]] size_t reasons() const { return kernel_.stalls.reasons.size(); }

  void put(const std::string& text) {
    stream_.text().append(text, 0, text.find_last_not_of(' ') + 1).append("\n");
    stream_.checkpoint();
  }

  [[nodiscard]] std::string share(uint64_t samples) const { return percent_text(samples, kernel_.stalls.samples); }

  void print_head() {
    const analyze::KernelStalls& stalls = kernel_.stalls;
    std::string line = shown_name(shown_text(kernel_.name)) + ": " + counted_text(stalls.samples, "sample");
    if (stalls.estimated > 0) {
      line += ", " + share(stalls.estimated) + " of them attributed by estimate";
    }
    put(line);
    line.clear();
    for (const analyze::StallLine& reason : stalls.reasons) {
      line.append(line.empty() ? "stalls: " : ", ").append(shown_name(shown_ends(reason.reason)));
      line.append(" ").append(share(reason.samples));
    }
    if (!line.empty()) {
      put(line);
    }
    if (kernel_.can_have_lines && stalls.without_lines > 0) {
      put(without_lines_text(stalls.without_lines, stalls.samples, stalls.without_in_zebins));
    }
  }

  // Returns the columns before the line number. They are empty if the line has no samples.
  [[nodiscard]] std::string cells(const AnnotatedLine* line) const {
    std::string text;
    append_cell(line == nullptr ? "" : share(line->samples), text);
    append_cell(line == nullptr ? "" : short_count_text(line->samples), text);
    for (size_t i = 0; i < reasons(); ++i) {
      const bool none = line == nullptr || line->reasons[i] == 0;
      append_cell(none ? "" : share(line->reasons[i]), text);
    }
    return text;
  }

  [[nodiscard]] std::string titles(std::string_view file) const {
    std::string text;
    append_cell("share", text);
    append_cell("samples", text);
    for (const analyze::StallLine& reason : kernel_.stalls.reasons) {
      const std::string name = shown_name(shown_ends(reason.reason));
      append_cell(cut_to_columns(name, kReasonLetters), text);
    }
    append_cell("line", text);
    return text + "  " + shown_name(shown_text(file.empty() ? "(no file)" : file));
  }

  static std::string number(uint32_t line) {
    std::string text;
    append_cell(line == 0 ? "" : std::to_string(line), text);
    return text + "  ";
  }

  void print_file(size_t begin, size_t end) {
    const SourceText& source = find_(root(begin).file);
    put("");
    put(titles(root(begin).file));
    put_reason_once(root(begin).file, source);
    std::vector<uint32_t> numbered;
    for (size_t i = begin; i < end; ++i) {
      numbered.push_back(root(i).line);
    }
    list_lines(
        source, numbered, [&](size_t i) { print_line(root(begin + i), source, 0); },
        [&](uint32_t line) { put(cells(nullptr) + number(line) + source_line(source, line)); },
        [&] { put(cells(nullptr) + number(0) + "..."); });
  }

  void print_line(const AnnotatedLine& line, const SourceText& source, size_t depth) {
    const std::string indent(2 * depth, ' ');
    std::string text = indent;
    if (depth > 0) {
      text.append("> ").append(shown_name(shown_ends(line.function)));
      text.append(" (").append(shown_name(shown_ends(line.file))).append(")  ");
    }
    put(cells(&line) + number(line.line) + text + source_line(source, line.line));
    for (const SampledInstruction& instruction : line.instructions) {
      put_instruction(instruction, indent + "  ");
    }
    if (depth == kMostDepth) {
      return;
    }
    for (const size_t position : line.inlined) {
      const AnnotatedLine& inlined = kernel_.lines[position];
      const SourceText& its_source = find_(inlined.file);
      put_reason_once(inlined.file, its_source);
      print_line(inlined, its_source, depth + 1);
    }
  }

  // Prints "| 0x40  LDG.E.128 R4, [R2.64]  70.12%". Prints nothing for an instruction without text.
  void put_instruction(const SampledInstruction& instruction, const std::string& indent) {
    if (instruction.text.empty()) {
      return;
    }
    char offset[24];
    std::snprintf(offset, sizeof offset, "0x%llx", static_cast<unsigned long long>(instruction.offset));
    std::string part;
    append_right(share(instruction.samples), 7, part);
    put(cells(nullptr) + number(0) + indent + "| " + part + "  " + offset + "  " +
        shown_name(shown_text(instruction.text)));
  }

  // Prints why the file's source text is not shown, but only once per file.
  void put_reason_once(std::string_view file, const SourceText& source) {
    if (!source.why_not.empty() && told_.insert(file).second) {
      put(cells(nullptr) + number(0) + "(" + shown_name(shown_ends(file)) + ": line numbers only, " + source.why_not +
          ")");
    }
  }

  void print_rest() {
    const bool has_text = std::any_of(kernel_.without_lines.begin(), kernel_.without_lines.end(),
                                      [](const SampledInstruction& instruction) { return !instruction.text.empty(); });
    if (has_text) {
      put("");
      put(titles("without a line"));
      for (const SampledInstruction& instruction : kernel_.without_lines) {
        put_instruction(instruction, "");
      }
    }
    if (kernel_.without_place > 0) {
      put("");
      put(share(kernel_.without_place) + " of the samples have no known code location");
    }
  }

  const AnnotatedKernel& kernel_;
  const FindSource& find_;
  TextStream& stream_;
  std::set<std::string_view> told_;
};

}  // namespace

void annotate_text(const AnnotatedKernel& kernel, const FindSource& find, TextStream& stream) {
  Listing(kernel, find, stream).print();
}

}  // namespace gpuprof::output
