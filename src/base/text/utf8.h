// UTF-8, as far as a profile and its outputs need it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuprof {

// The character that `text` begins with.
struct Utf8Character {
  char32_t code = 0;
  size_t size = 0;  // bytes of the well-formed sequence, 1 to 4; 0 where `text` begins with none
};

// Overlong forms, surrogates and what lies beyond U+10FFFF are not well-formed.
Utf8Character utf8_decode(std::string_view text);

// utf8_decode(text).size
size_t utf8_sequence(std::string_view text);

// A character that changes what a terminal or a page shows around it: C0 and C1 controls, line and paragraph
// separators, bidirectional controls, invisible characters that make two names look alike. Text from a target or a file
// is never shown with one of them in it.
bool is_deceptive(char32_t code);

// Appends the byte as \xHH.
void append_hex_escape(unsigned char byte, std::string& out);

// Appends `text` with the bytes of deceptive characters and what is not UTF-8 as \xHH, and each byte of `also` (ASCII)
// as \xHH, too. Everything that prints foreign text does it by this function.
void append_escaped(std::string_view text, std::string_view also, std::string& out);

// `text` as append_escaped() writes it.
std::string escaped(std::string_view text);

// `text` cut in the middle to at most `width` characters, the cut shown as "...".
std::string cut_middle(std::string_view text, size_t width);

// Characters, where a byte that begins no UTF-8 sequence counts as one.
size_t utf8_length(std::string_view text);

}  // namespace gpuprof
