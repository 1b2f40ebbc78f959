// UTF-8, as far as a profile and its outputs need it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuprof {

// Bytes of the well-formed UTF-8 sequence that `text` begins with (1 to 4); 0 where it begins with none. Overlong
// forms, surrogates and what lies beyond U+10FFFF are not well-formed.
size_t utf8_sequence(std::string_view text);

// Appends the byte as \xHH.
void append_hex_escape(unsigned char byte, std::string& out);

// Appends `text` with control bytes and what is not UTF-8 as \xHH, and each byte of `also` as \xHH, too.
void append_escaped(std::string_view text, std::string_view also, std::string& out);

// `text` cut in the middle to at most `width` characters, the cut shown as "...".
std::string cut_middle(std::string_view text, size_t width);

// Characters, where a byte that begins no UTF-8 sequence counts as one.
size_t utf8_length(std::string_view text);

}  // namespace gpuprof
