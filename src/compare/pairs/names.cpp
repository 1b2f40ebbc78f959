#include "compare/pairs/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace gpuprof::compare {
namespace {

constexpr std::string_view kOperator = "operator";
constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

bool all_of(std::string_view text, bool (*is)(char)) {
  return std::all_of(text.begin(), text.end(), is);
}

// Returns the length of the operator at the start of `rest`, which follows "operator": "<", "->", "()".
size_t operator_sign(std::string_view rest) {
  static constexpr std::array<std::string_view, 12> kSigns = {"<=>", "<<=", ">>=", "->*", "->", "<<",
                                                              ">>",  "<=",  ">=",  "()",  "<",  ">"};
  const auto* const found =
      std::find_if(kSigns.begin(), kSigns.end(), [rest](std::string_view sign) { return rest.starts_with(sign); });
  return found == kSigns.end() ? 0 : found->size();
}

// Removes <...>, (...) and [...], except in "(anonymous namespace)" and operators. "{lambda(int)#2}" becomes
// "{lambda}". An unclosed bracket removes the rest, so truncated names become equal wherever they were cut.
std::string without_arguments(std::string_view name) {
  std::string out;
  size_t depth = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    const std::string_view rest = name.substr(at);
    if (depth == 0 && rest.starts_with(kAnonymous)) {
      out += kAnonymous;
      at += kAnonymous.size() - 1;
    } else if (depth == 0 && rest.starts_with(kOperator) && (at == 0 || !is_word(name[at - 1]))) {
      const size_t sign = operator_sign(rest.substr(kOperator.size()));
      out += rest.substr(0, kOperator.size() + sign);
      at += kOperator.size() + sign - 1;
    } else if (c == '<' || c == '(' || c == '[') {
      ++depth;
    } else if (c == '>' || c == ')' || c == ']') {
      depth -= depth > 0 && !(c == '>' && at > 0 && name[at - 1] == '-') ? 1 : 0;
    } else if (depth == 0 && c == '#') {
      while (at + 1 < name.size() && is_digit(name[at + 1])) {
        ++at;
      }
    } else if (depth == 0) {
      out += c;
    }
  }
  return out;
}

// "void ns::f" -> "ns::f". Does not split "(anonymous namespace)" or "operator bool".
std::string_view without_return_type(std::string_view name) {
  for (size_t space = name.rfind(' '); space != std::string_view::npos && space > 0;
       space = name.rfind(' ', space - 1)) {
    const std::string_view before = name.substr(0, space);
    const bool anonymous = before.ends_with("(anonymous");
    const bool conversion = before.ends_with(kOperator);
    if (!anonymous && !conversion) {
      return name.substr(space + 1);
    }
  }
  return name;
}

std::string_view without_qualifiers(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kQualifiers = {" const", " volatile", " noexcept", " &&", " &", " "};
  const auto ends = [&text](std::string_view qualifier) { return text.ends_with(qualifier); };
  for (const auto* found = std::find_if(kQualifiers.begin(), kQualifiers.end(), ends); found != kQualifiers.end();
       found = std::find_if(kQualifiers.begin(), kQualifiers.end(), ends)) {
    text.remove_suffix(found->size());
  }
  return text;
}

// Removes the suffixes of copies that the compiler made: "f.isra.0", "f.constprop.1.part.2".
std::string_view without_clones(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot == 0) {
    return name;
  }
  static constexpr std::array<std::string_view, 6> kClones = {".isra", ".constprop", ".part",
                                                              ".cold", ".llvm",      ".lto_"};
  const std::string_view tail = name.substr(dot);
  return std::any_of(kClones.begin(), kClones.end(), [tail](std::string_view clone) { return tail.starts_with(clone); })
             ? name.substr(0, dot)
             : name;
}

// True for Triton's argument specializations, such as "0d1d2d3de4c": numbers, each followed by letters d, c or e.
bool is_specialization(std::string_view token) {
  size_t groups = 0;
  size_t at = 0;
  while (at < token.size()) {
    const size_t digits = at;
    while (at < token.size() && is_digit(token[at])) {
      ++at;
    }
    if (at == digits) {
      return false;
    }
    const size_t letters = at;
    while (at < token.size() && (token[at] == 'd' || token[at] == 'c' || token[at] == 'e')) {
      ++at;
    }
    if (at == letters && at < token.size()) {
      return false;
    }
    ++groups;
  }
  return groups > 0 && !is_digit(token.back());
}

bool is_hash(std::string_view token) {
  constexpr size_t kShortest = 8;
  return token.size() >= kShortest && all_of(token, is_hex) && std::any_of(token.begin(), token.end(), is_digit);
}

// Replaces sizes such as "128x128x32", also within a word: "tilesize128x128x32" -> "tilesize#".
void append_sizes(std::string_view token, std::string& out) {
  for (size_t at = 0; at < token.size();) {
    if (!is_digit(token[at])) {
      out += token[at++];
      continue;
    }
    size_t end = at;
    bool sizes = false;
    while (end < token.size() && (is_digit(token[end]) || (token[end] == 'x' && end + 1 < token.size() &&
                                                           is_digit(token[end + 1]) && is_digit(token[end - 1])))) {
      sizes = sizes || token[end] == 'x';
      ++end;
    }
    out += sizes ? std::string_view("#") : token.substr(at, end - at);
    at = end;
  }
}

// Replaces the number of a tuning parameter: "stage4", "align8", "splitK2".
bool append_tuning(std::string_view token, std::string& out) {
  static constexpr std::array<std::string_view, 8> kWords = {"stages", "stage", "align",  "splitK",
                                                             "splitk", "warps", "unroll", "vec"};
  for (const std::string_view word : kWords) {
    if (token.size() > word.size() && token.starts_with(word) && all_of(token.substr(word.size()), is_digit)) {
      out.append(word).append("#");
      return true;
    }
  }
  return false;
}

void append_token(std::string_view token, std::string& out) {
  if (is_hash(token)) {
    out += '#';
  } else if (!append_tuning(token, out)) {
    append_sizes(token, out);
  }
}

// Removes trailing tokens that come from autotuners or counters.
std::string_view without_suffixes(std::string_view name) {
  for (size_t bar = name.rfind('_'); bar != std::string_view::npos && bar > 0; bar = name.rfind('_')) {
    const std::string_view token = name.substr(bar + 1);
    if (!token.empty() && !all_of(token, is_digit) && !is_specialization(token) && !is_hash(token)) {
      break;
    }
    name = name.substr(0, bar);
  }
  return name;
}

std::string_view first_bytes(std::string_view name) {
  return name.substr(0, kMostNameBytes);
}

}  // namespace

std::string normalized_function(std::string_view name) {
  if (name.starts_with('[')) {
    return std::string(name);
  }
  const std::string plain = without_arguments(first_bytes(name));
  const std::string_view text = without_clones(without_return_type(without_qualifiers(plain)));
  return text.empty() ? std::string(name) : std::string(text);
}

std::string normalized_kernel(std::string_view name) {
  if (name.starts_with('[')) {
    return std::string(name);
  }
  const std::string function = normalized_function(name);
  const std::string_view text = without_suffixes(function);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(),
                                        [](char c) { return c != '_' && is_word(c); }) -
                       text.begin();
    append_token(text.substr(at, end - at), out);
    if (end < text.size()) {
      out += text[end];
    }
    at = end + 1;
  }
  return out;
}

}  // namespace gpuprof::compare
