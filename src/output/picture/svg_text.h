// Prepares text for SVG: makes hostile names printable, escapes them, and cuts them to a width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuprof::output {

// Returns valid UTF-8 that XML 1.0 allows. Replaces bad sequences by U+FFFD, and line breaks and tabs by spaces. Drops
// control characters, and bidirectional overrides, which can disguise a name.
std::string printable(std::string_view bytes);

// The functions below expect the output of printable().
std::string xml_escaped(std::string_view text);
// Escapes '<', '>' and '&' too, so that the result needs no further escaping in XML.
std::string json_quoted(std::string_view text);
// Cuts the text to this number of columns of a fixed-width font, with an ellipsis. East Asian wide characters take two
// columns. Returns "" if a cut label would have fewer than 5 columns, because it would not be readable.
std::string cut_to_columns(std::string_view text, size_t columns);

// Cuts the text to at most this number of bytes, between characters and with an ellipsis.
std::string cut_to_bytes(std::string_view text, size_t bytes);

}  // namespace gpuprof::output
