// The source files whose lines the annotated listings show.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::output {

// The lines of a source file, or the reason why they are not shown.
struct SourceText {
  std::string text;
  std::vector<uint32_t> ends;  // where each line ends in `text`; empty if the lines are not shown
  // A reason such as "it was changed after the recording"; empty if the lines are shown.
  std::string why_not;

  // `text` has less than 4 GiB.
  static SourceText of(std::string text);
  [[nodiscard]] uint64_t memory() const { return text.capacity() + ends.capacity() * sizeof(uint32_t); }
};

// Returns the source file for a path in the profile. The reference stays valid.
using FindSource = std::function<const SourceText&(std::string_view path)>;

// Returns the text of a line, without characters that would break a table. Returns "" if the line is unknown.
std::string source_line(const SourceText& source, uint32_t line);

// Lists those lines of a source file that have measured values, with some lines around them. Calls `put(i)` for each
// element of `numbered`, which contains ascending line numbers. Calls `plain(line)` for up to two lines before and
// after each of them, and `gap()` where lines are left out.
template <typename Put, typename Plain, typename Gap>
void list_lines(const SourceText& source, const std::vector<uint32_t>& numbered, Put put, Plain plain, Gap gap) {
  constexpr uint32_t kContext = 2;
  const auto put_plain = [&](uint32_t begin, uint32_t end) {
    for (uint32_t line = begin; line < end && line <= source.ends.size(); ++line) {
      plain(line);
    }
  };
  uint32_t next = 0;
  for (size_t i = 0; i < numbered.size(); ++i) {
    const uint32_t line = numbered[i];
    const uint32_t first = std::max(next, line - std::min(line, kContext));
    if (next != 0 && first > next) {
      gap();
    }
    put_plain(std::max(first, 1U), line);
    put(i);
    next = line == UINT32_MAX ? line : line + 1;
    const uint32_t limit = i + 1 < numbered.size() ? numbered[i + 1] : UINT32_MAX;
    const uint32_t after = std::min(limit, next > UINT32_MAX - kContext ? UINT32_MAX : next + kContext);
    put_plain(next, after);
    next = std::max(next, std::min(after, static_cast<uint32_t>(source.ends.size()) + 1));
  }
}

}  // namespace gpuprof::output
