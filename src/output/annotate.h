// Prints source lines as text, with the numbers that were measured for each line.
#pragma once

#include <cstddef>

#include "analyze/paths/annotate.h"
#include "analyze/paths/source_lines.h"
#include "base/text/text_stream.h"
#include "output/source_text.h"

namespace gpuprof::output {

void annotate_text(const analyze::AnnotatedKernel& kernel, const FindSource& find, TextStream& stream);

// Prints the CPU lines that launch GPU work, with the GPU time that each launched, for at most `files` files (0:
// unlimited).
void annotate_cpu_text(const analyze::LaunchingLines& lines, size_t files, const FindSource& find, TextStream& stream);

}  // namespace gpuprof::output
