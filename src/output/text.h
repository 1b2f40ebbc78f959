// Names of tables for a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gpuprof::output {

std::string shown_name(std::string_view name);  // valid UTF-8 without control bytes

// " (10 of 34)", behind the title of a table that does not show all that was found; else empty.
std::string part_shown(size_t shown, size_t found);

void append_right(const std::string& text, size_t width, std::string& out);

// The first kMostShownBytes of a name, with an ellipsis: for JSON, of which one name may come a million times.
inline constexpr size_t kMostShownBytes = size_t{64} << 10U;
std::string shown_text(std::string_view name);

// For tables, which leave out the middle anyway: what a long name begins and ends with.
std::string shown_ends(std::string_view name);

// A kernel's name in at most `width` characters, short as analyze/names/kernel_names.h makes it.
std::string shown_kernel(std::string_view name, size_t width);

// " <- callee <- ... <- caller" behind `begin`, in at most `width` characters where there is room for a frame. Frames
// that tell nothing (without a name, or that every thread starts with) are not shown, and of the others those in the
// middle are left out first: the ends are the API that was called and the user's own code. The node of a graph has a
// second line: where the graph was launched.
std::string callers_text(std::string begin, std::span<const std::string_view> path, size_t width);

}  // namespace gpuprof::output
