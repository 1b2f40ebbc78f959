// Text for SVG: hostile names made printable, escaped, cut to a width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuprof::output {

// Valid UTF-8 that XML 1.0 allows: bad sequences become U+FFFD, line breaks and tabs a space; control characters and
// the bidirectional overrides, which can make a name read as another one, are dropped.
std::string printable(std::string_view bytes);

// All three take what printable() returned.
std::string xml_escaped(std::string_view text);
std::string json_quoted(std::string_view text);  // with no '<', '>' or '&', so that it can stand in XML as it is
// Cut, with an ellipsis, to that many columns of a fixed-width font; East Asian wide characters take two. Empty if
// the text does not fit and fewer than 5 columns are there, which say nothing.
std::string cut_to_columns(std::string_view text, size_t columns);

// Cut, with an ellipsis, to at most that many bytes, between characters.
std::string cut_to_bytes(std::string_view text, size_t bytes);

}  // namespace gpuprof::output
