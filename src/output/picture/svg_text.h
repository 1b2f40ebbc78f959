// Prepares text for SVG: makes hostile names printable, escapes them, and cuts them to a width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuprof::output {

// Returns valid UTF-8 that XML 1.0 allows. Replaces bad sequences by U+FFFD, line breaks and tabs by spaces. Drops
// control characters and bidirectional overrides, which can disguise a name.
std::string printable(std::string_view bytes);

// The functions below expect the output of printable().
std::string xml_escaped(std::string_view text);
std::string json_quoted(std::string_view text);  // without '<', '>' and '&', so that it can stand in XML unescaped
// Cuts the text, with an ellipsis, to that many columns of a fixed-width font; East Asian wide characters take two.
// Returns "" instead of a cut label of fewer than 5 columns, which is not readable.
std::string cut_to_columns(std::string_view text, size_t columns);

// Cuts the text between characters, with an ellipsis, to at most that many bytes.
std::string cut_to_bytes(std::string_view text, size_t bytes);

}  // namespace gpuprof::output
