#include "cupti/probes/ptx_lexer.h"

#include <cstring>

#include "cupti/probes/ptx_text.h"

namespace gpuprof::injection::cupti {
namespace {

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

// Moves the lexer behind the semicolon that ends a statement. Returns false if the text ends first.
bool skip_statement(PtxLexer* lexer) {
  size_t braces = 0;
  while (true) {
    const PtxToken token = lexer->next();
    if (token.kind == PtxToken::end || token.kind == PtxToken::error) {
      return false;
    }
    if (token.is('{')) {
      ++braces;
    } else if (token.is('}') && braces-- == 0) {
      return false;
    } else if (token.is(';')) {
      return braces == 0;
    }
  }
}

// `.loc` has no semicolon. It ends with its line.
bool skip_line(PtxLexer* lexer) {
  const char* at = lexer->position();
  for (; at != lexer->end() && *at != '\n'; ++at) {
    if (*at == ';' || *at == '{' || *at == '}') {
      return false;
    }
  }
  lexer->move_to(at);
  return true;
}

// Reads digits from the front of the text.
bool take_number(std::string_view* text, uint32_t* number) {
  size_t digits = 0;
  *number = 0;
  for (; digits < text->size() && is_digit((*text)[digits]); ++digits) {
    *number = *number * 10 + static_cast<uint32_t>((*text)[digits] - '0');
  }
  text->remove_prefix(digits);
  return digits != 0 && digits < 6;
}

}  // namespace

bool PtxLexer::skip_blanks() {
  while (at_ != end_) {
    if (is_blank(*at_)) {
      ++at_;
    } else if (*at_ == '/' && end_ - at_ > 1 && at_[1] == '/') {
      const void* const line_end = memchr(at_, '\n', static_cast<size_t>(end_ - at_));
      at_ = line_end == nullptr ? end_ : static_cast<const char*>(line_end);
    } else if (*at_ == '/' && end_ - at_ > 1 && at_[1] == '*') {
      const size_t length = between(at_ + 2, end_).find("*/");
      if (length == std::string_view::npos) {
        return false;
      }
      at_ += 2 + length + 2;
    } else {
      break;
    }
  }
  return true;
}

PtxToken PtxLexer::next() {
  if (!skip_blanks()) {
    return {PtxToken::error, {}};
  }
  const char* const begin = at_;
  if (at_ == end_) {
    return {PtxToken::end, {}};
  }
  if (is_word(*at_)) {
    while (at_ != end_ && is_word(*at_)) {
      ++at_;
    }
    return {PtxToken::word, between(begin, at_)};
  }
  ++at_;
  if (*begin != '"') {
    const bool known = strchr("{}()[]<>,;:@!=+-|*/&~^?", *begin) != nullptr && *begin != '\0';
    return {known ? PtxToken::mark : PtxToken::error, between(begin, at_)};
  }
  for (; at_ != end_ && *at_ != '"'; ++at_) {
    if (*at_ == '\\' && end_ - at_ > 1) {
      ++at_;
    }
  }
  if (at_ == end_) {
    return {PtxToken::error, {}};
  }
  ++at_;
  return {PtxToken::string, between(begin, at_)};
}

PtxStatement next_statement(PtxLexer* lexer) {
  PtxToken token = lexer->next();
  PtxStatement statement = {PtxStatement::error, false, {}, {}};
  const char* const begin = token.text.data();
  if (token.kind == PtxToken::end) {
    statement.kind = PtxStatement::end;
  } else if (token.is('{')) {
    statement.kind = PtxStatement::open;
  } else if (token.is('}')) {
    statement.kind = PtxStatement::close;
  } else {
    if (token.is('@')) {
      statement.predicated = true;
      token = lexer->next();
      if (token.is('!')) {
        token = lexer->next();
      }
      token = token.kind == PtxToken::word ? lexer->next() : token;
    }
    if (token.kind != PtxToken::word) {
      return statement;
    }
    statement.opcode = token.text;
    const char* const after = lexer->position();
    if (token.is(".loc") || token.is(".file")) {
      statement.kind = skip_line(lexer) ? PtxStatement::source_line : PtxStatement::error;
    } else if (!statement.predicated && lexer->next().is(':') &&
               (lexer->position() == lexer->end() || *lexer->position() != ':')) {
      statement.kind = PtxStatement::label;  // and not an opcode like cp.async.bulk.shared::cta
    } else {
      lexer->move_to(after);
      if (token.text != ".section" && skip_statement(lexer)) {
        statement.kind = token.text[0] == '.' ? PtxStatement::declaration : PtxStatement::instruction;
      }
    }
  }
  if (statement.kind != PtxStatement::end) {
    statement.text = between(begin, lexer->position());
  }
  return statement;
}

bool read_header(const char* text, size_t bytes, PtxHeader* header) {
  PtxLexer lexer({text, bytes});
  if (!lexer.next().is(".version")) {
    return false;
  }
  std::string_view version = lexer.next().text;
  uint32_t major;
  uint32_t minor;
  if (!take_number(&version, &major) || !version.starts_with('.')) {
    return false;
  }
  version.remove_prefix(1);
  if (!take_number(&version, &minor) || minor > 99 || !version.empty() || !lexer.next().is(".target")) {
    return false;
  }
  std::string_view target = lexer.next().text;
  if (!target.starts_with("sm_")) {
    return false;
  }
  target.remove_prefix(3);
  if (!take_number(&target, &header->arch) || (!target.empty() && target != "a" && target != "f")) {
    return false;
  }
  header->version = major * 100 + minor;
  header->variant = target.empty() ? ArchVariant::none : target == "a" ? ArchVariant::exact : ArchVariant::family;
  header->debug = false;
  PtxToken token = lexer.next();
  for (; token.is(','); token = lexer.next()) {
    header->debug = lexer.next().is("debug") || header->debug;
  }
  header->has_64_bits = token.is(".address_size") && lexer.next().is("64");
  return true;
}

}  // namespace gpuprof::injection::cupti
