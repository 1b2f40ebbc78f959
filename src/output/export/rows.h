// The rows of a profile as tables: one row for each stack and what it is told apart by.
#pragma once

#include "analyze/paths/walk.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

// One object, described by docs/schema/export.json: rows, whose stacks are positions in a list of frames, and that
// list.
void write_json(analyze::Walk& walk, TextStream& out);

// Quoted as RFC 4180 says, with a line of names; lines end in a newline alone; the stack is one text, its frames parted
// by ';'.
void write_csv(analyze::Walk& walk, TextStream& out);

// Folded stacks, as `flame` writes them, of the profile's main weight: ns of GPU time, launches or samples. Time is not
// shared out among samples.
void write_stacks(analyze::Walk& walk, TextStream& out);

}  // namespace gpuprof::output
