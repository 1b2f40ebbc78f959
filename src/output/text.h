// Names and numbers of tables for a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::output {

std::string time_text(double ns);        // "1.23 us"
std::string count_text(uint64_t count);  // 1234567: "1,234,567"
std::string percent_text(uint64_t part, uint64_t whole);
std::string shown_name(std::string_view name);  // valid UTF-8 without control bytes

void append_right(const std::string& text, size_t width, std::string& out);

// What a reader needs of a call path (root first), innermost first: no frames without a name or that every thread
// starts with, names without their parameters.
std::vector<std::string> telling_frames(const std::vector<std::string>& path);

// " <- callee <- ... <- caller" behind `begin`, in at most `width` characters where there is room for a frame. Frames
// in the middle are left out first: the ends are the API that was called and the user's own code. The node of a graph
// has a second line: where the graph was launched.
std::string callers_text(std::string begin, const std::vector<std::string>& path, size_t width);

}  // namespace gpuprof::output
