#include "symbolize/gpu/sass_operand.h"

#include <algorithm>
#include <charconv>

#include "symbolize/gpu/sass_instruction.h"

namespace gpuprof::symbolize {
namespace {

constexpr size_t kMostRegisters = 8;
constexpr size_t kAllPredicates = 7;

bool is_word(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

struct File {
  std::string_view prefix;
  std::string_view constant;  // the register that always holds the same value: "RZ"
  std::string_view all;       // the name of all registers of the file; may be empty
  size_t first;
  size_t count;
};

constexpr File kFiles[] = {{"UP", "UPT", "UPR", sass_uniform_predicate(0), kAllPredicates},
                           {"UR", "URZ", "", sass_uniform(0), 255},
                           {"P", "PT", "PR", sass_predicate(0), kAllPredicates},
                           {"R", "RZ", "", sass_register(0), 255}};

// Parses a word of letters and digits. Returns true if it names a register, a register with a constant value, or all
// registers of a file.
bool take_register(std::string_view word, std::string_view suffix, SassOperand& operand) {
  for (const File& file : kFiles) {
    if (word == file.constant) {
      operand.is_predicate |= file.count == kAllPredicates;
      return true;
    }
    if (!file.all.empty() && word == file.all) {
      operand.is_predicate = true;
      operand.registers.push_back({file.first, file.first + file.count, kAllPredicates});
      return true;
    }
    if (!word.starts_with(file.prefix) || word.size() == file.prefix.size()) {
      continue;
    }
    size_t number = 0;
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data() + file.prefix.size(), end, number);
    if (error != std::errc() || rest != end) {
      continue;
    }
    if (number >= file.count || operand.registers.size() == kMostRegisters) {
      operand.valid = false;
      return true;
    }
    operand.is_predicate |= file.count == kAllPredicates;
    const bool pair = suffix == "64";
    operand.registers.push_back({file.first + number, file.first + file.count, pair ? size_t{2} : size_t{1}});
    return true;
  }
  return false;
}

}  // namespace

std::string_view next_sass_operand(std::string_view& text) {
  size_t depth = 0;
  size_t end = 0;
  for (; end < text.size() && (text[end] != ',' || depth > 0); ++end) {
    if (text[end] == '[' || text[end] == '(') {
      ++depth;
    } else if ((text[end] == ']' || text[end] == ')') && depth > 0) {
      --depth;
    }
  }
  std::string_view operand = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  operand.remove_prefix(std::min(operand.find_first_not_of(' '), operand.size()));
  return operand;
}

SassOperand parse_sass_operand(std::string_view text) {
  SassOperand operand;
  operand.is_memory = text.find('[') != std::string_view::npos;
  operand.is_constant = operand.is_memory && text.find("c[") != std::string_view::npos;
  operand.negated = text.starts_with('!');
  if (text.size() == 2 && text[0] == 'B' && text[1] >= '0' && text[1] <= '9') {
    operand.barrier = static_cast<uint8_t>(text[1] - '0');
  }
  while (!text.empty()) {
    if (text.front() == '`') {
      break;  // the rest is a label, not registers
    }
    if (!is_word(text.front())) {
      text.remove_prefix(1);
      continue;
    }
    const auto end = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_word) - text.begin());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    std::string_view suffix;
    while (text.starts_with('.')) {  // ".reuse", ".H0_H0", ".64"
      const auto begin = text.begin() + 1;
      const auto length = static_cast<size_t>(std::find_if_not(begin, text.end(), is_word) - begin);
      const std::string_view more = text.substr(1, length);
      suffix = more == "64" ? more : suffix;
      text.remove_prefix(1 + length);
    }
    take_register(word, suffix, operand);
  }
  // A predicate inside an address does not make the operand a predicate.
  operand.is_predicate = operand.is_predicate && !operand.is_memory;
  return operand;
}

}  // namespace gpuprof::symbolize
