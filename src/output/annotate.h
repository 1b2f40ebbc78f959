// Source lines as text, with what was found there.
#pragma once

#include <cstddef>

#include "analyze/paths/annotate.h"
#include "analyze/paths/source_lines.h"
#include "base/text/text_stream.h"
#include "output/source_text.h"

namespace gpuprof::output {

// A kernel's lines with their samples.
void annotate_text(const analyze::AnnotatedKernel& kernel, const FindSource& find, TextStream& stream);

// The lines of the CPU that launch, with the GPU time below them; of at most so many files, 0 for all.
void annotate_cpu_text(const analyze::LaunchingLines& lines, size_t files, const FindSource& find, TextStream& stream);

}  // namespace gpuprof::output
