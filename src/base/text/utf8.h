#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuprof {

struct Utf8Character {
  char32_t code = 0;
  size_t size = 0;  // bytes of the character, 1 to 4; 0 if it is malformed
};

// Decodes the first character of a text. Overlong forms, surrogates and values above U+10FFFF are malformed.
Utf8Character utf8_decode(std::string_view text);

size_t utf8_sequence(std::string_view text);

// Returns whether a character can deceive a reader. It may change how a terminal or page shows the text around it, or
// be invisible, so that two names look alike. These are C0 and C1 controls, line and paragraph separators,
// bidirectional controls and invisible characters. gpuprof never prints them in text from a target or a file.
bool is_deceptive(char32_t code);

void append_hex_escape(unsigned char byte, std::string& out);

// Returns whether the character at `at` begins a command for the log of a CI system. GitHub's runner obeys a printed
// line that begins with "::", after white space, and "##[" anywhere. A line may be wrapped at white space. A caller may
// append the rest of a command, so the texts ":" and "...##" count, too.
bool begins_ci_command(std::string_view text, size_t at);

// Appends `text`. Writes \xHH for each byte of a deceptive character, of malformed UTF-8, or of an ASCII character in
// `also`, and for the first character of a CI command. All code that prints text from a target or a file must use this
// function.
void append_escaped(std::string_view text, std::string_view also, std::string& out);

std::string escaped(std::string_view text);

// Shortens `text` to at most `width` characters by replacing its middle with "...".
std::string cut_middle(std::string_view text, size_t width);

// Counts characters. A byte outside of any valid UTF-8 sequence counts as one character.
size_t utf8_length(std::string_view text);

}  // namespace gpuprof
