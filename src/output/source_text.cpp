#include "output/source_text.h"

#include "output/text.h"

namespace gpuprof::output {

std::string source_line(const SourceText& source, uint32_t line) {
  if (line == 0 || line > source.lines.size()) {
    return {};
  }
  std::string text = source.lines[line - 1];
  for (size_t tab = text.find('\t'); tab != std::string::npos; tab = text.find('\t', tab)) {
    text.replace(tab, 1, "    ");
  }
  return shown_name(shown_text(text));
}

}  // namespace gpuprof::output
