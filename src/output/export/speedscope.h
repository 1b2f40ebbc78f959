// Writes a file for https://www.speedscope.app, by its file-format-schema.json: one sampled profile per weight.
#pragma once

#include "analyze/paths/walk.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

void write_speedscope(analyze::Walk& walk, TextStream& out);

}  // namespace gpuprof::output
