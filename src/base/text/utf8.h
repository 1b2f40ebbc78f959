// The UTF-8 functions that profiles and outputs need.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuprof {

// The first character of a text.
struct Utf8Character {
  char32_t code = 0;
  size_t size = 0;  // bytes of the well-formed sequence, 1 to 4; 0 if malformed
};

// Overlong forms, surrogates and values above U+10FFFF are malformed.
Utf8Character utf8_decode(std::string_view text);

// utf8_decode(text).size
size_t utf8_sequence(std::string_view text);

// Whether a character can deceive: it changes how a terminal or page shows the text around it, or is invisible, so
// that two names look alike. These are C0 and C1 controls, line and paragraph separators, bidirectional controls and
// invisible characters. gpuprof never shows them in text from a target or a file.
bool is_deceptive(char32_t code);

// Appends the byte as \xHH.
void append_hex_escape(unsigned char byte, std::string& out);

// Appends `text`, with \xHH for each byte of deceptive characters, of malformed UTF-8, and of the ASCII characters in
// `also`. All code that prints foreign text must use this function.
void append_escaped(std::string_view text, std::string_view also, std::string& out);

// Returns the output of append_escaped().
std::string escaped(std::string_view text);

// Shortens `text` to at most `width` characters by replacing its middle with "...".
std::string cut_middle(std::string_view text, size_t width);

// Counts characters. A byte that starts no UTF-8 sequence counts as one.
size_t utf8_length(std::string_view text);

}  // namespace gpuprof
