// Writes a comparison as text, as a Markdown table for a pull request, as JSON, folded stacks or a picture.
#pragma once

#include <cstddef>
#include <string>

#include "base/text/text_stream.h"
#include "compare/comparison.h"
#include "output/compare/diff_lines.h"
#include "output/folded.h"

namespace gpuprof::output {

struct DiffOptions {
  size_t top = 6;  // lines per table, those with the largest changes; 0: unlimited
  size_t width = 80;
  bool full_names = false;  // show complete kernel names, as JSON and folded stacks always do
};

// Writes tables with the largest changes first, in lines of at most `width` characters. A line may be longer, because
// names keep a minimum width.
void diff_text(const DiffLines& lines, const DiffOptions& options, TextStream& out);

// Writes the tables of diff_text() as Markdown for GitHub and GitLab.
void diff_markdown(const DiffLines& lines, const DiffOptions& options, TextStream& out);

// Writes all lines as one object, described by docs/schema/diff.json. Times are integers in ns.
void diff_json(const DiffLines& lines, TextStream& out);

// Writes a line "main;step;kernel OLD NEW" for each path, in us or launches, as Brendan Gregg's difffolded.pl does.
// Returns the paths that round to 0 on both sides, with the greater of their times.
TooShort diff_folded(const DiffLines& lines, TextStream& out);

// Draws a flame graph with the widths of the new side or, with `inverse`, of the old side. Colours show the changes.
std::string diff_svg(const DiffLines& lines, bool inverse, const std::string& notice);

}  // namespace gpuprof::output
