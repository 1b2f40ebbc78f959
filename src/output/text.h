// Formats names for tables on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/names/frame_origin.h"
#include "analyze/paths/call_path.h"

namespace gpuprof::output {

std::string shown_name(std::string_view name);  // returns valid UTF-8 without control bytes

// Returns " (10 of 34)", for the title of a table that shows only some of the lines that exist. Returns "" if it shows
// all.
std::string part_shown(size_t shown, size_t found);

void append_right(const std::string& text, size_t width, std::string& out);

// Appends `text` in lines of at most `width` characters, broken at spaces. Indents all lines but the first. `used`: how
// many characters `out` already has in the first line.
void append_wrapped(std::string_view text, size_t width, std::string_view indent, std::string& out, size_t used = 0);

// Returns the first kMostShownBytes of a name, with an ellipsis if it is cut. JSON may repeat a name a million times.
inline constexpr size_t kMostShownBytes = size_t{64} << 10U;
std::string shown_text(std::string_view name);

// Returns the beginning and the end of a long name. Use it for tables, which cut out the middle anyway.
std::string shown_ends(std::string_view name);

// Returns a kernel's name in at most `width` characters, shortened as by analyze/names/kernel_names.h.
std::string shown_kernel(std::string_view name, size_t width);

struct Caller {
  std::string_view label;
  analyze::Origin origin = analyze::Origin::none;
};

std::vector<Caller> callers_of(const analyze::CallPath& path);

// Appends " caller -> ... -> callee" to `begin`, in at most `width` characters but with at least one frame. Omits
// unnamed frames and thread starts. If the rest is too wide, keeps the innermost frame, which is the API call. Then
// keeps frames of the user's own code before those of libraries, and inner frames before outer ones. For a graph node,
// a second line shows the launch of the graph.
std::string callers_text(std::string begin, std::span<const Caller> path, size_t width);

}  // namespace gpuprof::output
