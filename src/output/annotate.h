// Kernels as text: their source lines with what was found there.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/annotate.h"
#include "base/text_stream.h"

namespace gpuprof::output {

// A source file of a kernel, as far as it can be shown.
struct SourceText {
  std::vector<std::string> lines;  // the first is line 1; may be none
  std::string why_not;             // where it is not shown: "it was changed after the recording"
};

// Of a path as the profile has it. What it returns stays where it is.
using FindSource = std::function<const SourceText&(std::string_view path)>;

void annotate_text(const analyze::AnnotatedKernel& kernel, const FindSource& find, TextStream& stream);

}  // namespace gpuprof::output
