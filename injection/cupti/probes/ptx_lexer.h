#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuprof::injection::cupti {

struct PtxToken {
  enum Kind : uint8_t { end, word, string, mark, error };
  Kind kind;
  std::string_view text;  // A mark has one character.

  bool is(char mark_character) const { return kind == mark && text[0] == mark_character; }
  bool is(std::string_view expected) const { return kind == word && text == expected; }
};

// Splits PTX into tokens, without comments. A word has letters, digits and `_$%.`, so `ld.param.u64` is one word.
class PtxLexer {
 public:
  explicit PtxLexer(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  PtxToken next();
  const char* position() const { return at_; }
  const char* end() const { return end_; }
  void move_to(const char* position) { at_ = position; }

 private:
  bool skip_blanks();  // and comments; returns false if a comment does not end

  const char* at_;
  const char* end_;
};

// A statement in the body of a kernel or a function.
struct PtxStatement {
  enum Kind : uint8_t { end, open, close, label, declaration, source_line, instruction, error };
  Kind kind;
  bool predicated;
  std::string_view text;    // with the semicolon
  std::string_view opcode;  // or the first word of a declaration, or the name of a label
};

PtxStatement next_statement(PtxLexer* lexer);

}  // namespace gpuprof::injection::cupti
