// A comparison as its readers want it: a screen of text, a table for a pull request, JSON, folded stacks, a picture.
#pragma once

#include <cstddef>
#include <string>

#include "base/text/text_stream.h"
#include "compare/comparison.h"
#include "output/compare/diff_lines.h"

namespace gpuprof::output {

struct DiffOptions {
  size_t top = 6;  // lines of each table, those that changed most; 0: all
  size_t width = 80;
  bool full_names = false;  // of kernels; JSON and folded stacks have them always
};

// Tables, those that changed most first, in lines of `width` characters where that leaves names some room.
void diff_text(const DiffLines& lines, const DiffOptions& options, TextStream& out);

// The same as Markdown for GitHub and GitLab.
void diff_markdown(const DiffLines& lines, const DiffOptions& options, TextStream& out);

// One object, as docs/schema/diff.json says; all lines. Times are integers, in ns.
void diff_json(const DiffLines& lines, TextStream& out);

// "main;step;kernel OLD NEW", as Brendan Gregg's difffolded.pl prints them; in us, or in launches. A line for each
// path.
void diff_folded(const DiffLines& lines, TextStream& out);

// A flame graph of the new side (`inverse`: of the old one), coloured by what has changed.
std::string diff_svg(const DiffLines& lines, bool inverse, const std::string& notice);

}  // namespace gpuprof::output
