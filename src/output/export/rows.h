// Writes the rows of a profile as tables: one row per combination of call path, process, device and kernel.
#pragma once

#include "analyze/paths/walk.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

// Writes one object, described by docs/schema/export.json: a list of rows and a list of frames. The stack of a row is a
// list of indexes into the frames.
void write_json(analyze::Walk& walk, TextStream& out);

// Writes CSV with a header line, quoted as in RFC 4180, but with LF line ends. ';' separates a stack's frames.
void write_csv(analyze::Walk& walk, TextStream& out);

// Writes folded stacks like `flame`. The weight is ns (not apportioned to samples), launches or samples.
void write_stacks(analyze::Walk& walk, TextStream& out);

}  // namespace gpuprof::output
