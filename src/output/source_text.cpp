#include "output/source_text.h"

#include <utility>

#include "output/text.h"

namespace gpuprof::output {

SourceText SourceText::of(std::string text) {
  SourceText source;
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  source.ends.reserve(lines + 1);
  for (size_t at = 0; at < text.size(); at = source.ends.back() + size_t{1}) {
    source.ends.push_back(static_cast<uint32_t>(std::min(text.find('\n', at), text.size())));
  }
  source.text = std::move(text);
  return source;
}

std::string source_line(const SourceText& source, uint32_t line) {
  if (line == 0 || line > source.ends.size()) {
    return {};
  }
  const size_t begin = line == 1 ? 0 : source.ends[line - 2] + size_t{1};
  std::string_view rest = std::string_view(source.text).substr(begin, source.ends[line - 1] - begin);
  rest.remove_suffix(rest.ends_with('\r') ? 1 : 0);
  std::string text;
  for (const char c : rest) {
    c == '\t' ? text.append("    ") : text.append(1, c);
  }
  return shown_name(shown_text(text));
}

}  // namespace gpuprof::output
