// Source files beside which numbers are shown.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::output {

// A source file, as far as it can be shown.
struct SourceText {
  std::vector<std::string> lines;  // the first is line 1; may be none
  std::string why_not;             // where it is not shown: "it was changed after the recording"
};

// Of a path as the profile has it. What it returns stays where it is.
using FindSource = std::function<const SourceText&(std::string_view path)>;

// The text of a line, without what would break a table; empty where it is not known.
std::string source_line(const SourceText& source, uint32_t line);

}  // namespace gpuprof::output
