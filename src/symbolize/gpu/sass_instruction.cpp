#include "symbolize/gpu/sass_instruction.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "symbolize/gpu/sass_opcodes.h"
#include "symbolize/gpu/sass_operand.h"

namespace gpuprof::symbolize {
namespace {

constexpr size_t kMostOperands = 16;
// The maximum number of registers in an operand. Used if the width is unknown.
constexpr size_t kMayBeAsWide = 8;

// An opcode "LDG.E.128": a name and its modifiers.
class Opcode {
 public:
  explicit Opcode(std::string_view text) : name_(text.substr(0, text.find('.'))) {
    text.remove_prefix(name_.size());
    while (!text.empty()) {
      text.remove_prefix(1);
      const std::string_view word = text.substr(0, text.find('.'));
      words_.push_back(word);
      text.remove_prefix(word.size());
    }
  }

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] const std::vector<std::string_view>& words() const { return words_; }
  [[nodiscard]] bool has(std::initializer_list<std::string_view> any) const {
    return std::any_of(words_.begin(), words_.end(),
                       [&](std::string_view word) { return std::find(any.begin(), any.end(), word) != any.end(); });
  }

 private:
  std::string_view name_;
  std::vector<std::string_view> words_;
};

// Returns the number of registers that hold the loaded or stored data.
size_t data_width(const Opcode& opcode) {
  return opcode.has({"256"}) ? 8 : opcode.has({"128"}) ? 4 : opcode.has({"64", "F64", "S64", "U64"}) ? 2 : 1;
}

// Returns how many matrices a warp loads or stores.
size_t matrix_width(const Opcode& opcode) {
  return opcode.has({"4"}) ? 4 : opcode.has({"2"}) ? 2 : 1;
}

struct Widths {
  size_t result = 1;
  // Numbers of registers in the first sources. Further sources have one register.
  std::array<size_t, 3> sources = {1, 1, 1};
};

// Computes the register counts from the shape of a matrix product (rows x columns x depth, as in PTX). The threads of
// a warp hold equal shares of each matrix.
std::optional<Widths> mma_widths(const Opcode& opcode) {
  struct Shape {
    std::string_view name;
    std::string_view word;
    // The type that must be among the modifiers. An empty type matches all types that are not listed before.
    std::string_view type;
    Widths widths;
  };
  static constexpr std::array<Shape, 21> kShapes = {
      {{"HMMA", "16816", "", {4, {4, 2, 4}}},   {"HMMA", "1688", "TF32", {4, {4, 2, 4}}},
       {"HMMA", "1688", "", {4, {2, 1, 4}}},    {"HMMA", "1684", "TF32", {4, {2, 1, 4}}},
       {"IMMA", "8816", "", {2, {1, 1, 2}}},    {"IMMA", "16816", "", {4, {2, 1, 4}}},
       {"IMMA", "16832", "S4", {4, {2, 1, 4}}}, {"IMMA", "16832", "U4", {4, {2, 1, 4}}},
       {"IMMA", "16832", "S8", {4, {4, 2, 4}}}, {"IMMA", "16832", "U8", {4, {4, 2, 4}}},
       {"IMMA", "16864", "S4", {4, {4, 2, 4}}}, {"IMMA", "16864", "U4", {4, {4, 2, 4}}},
       {"IMMA", "8832", "S4", {2, {1, 1, 2}}},  {"IMMA", "8832", "U4", {2, {1, 1, 2}}},
       {"QMMA", "16832", "", {4, {4, 2, 4}}},   {"QMMA", "16816", "", {4, {2, 1, 4}}},
       {"DMMA", "884", "", {4, {2, 2, 4}}},     {"DMMA", "8x8x4", "", {4, {2, 2, 4}}},
       {"BMMA", "88128", "", {2, {1, 1, 2}}},   {"BMMA", "168128", "", {4, {2, 1, 4}}},
       {"BMMA", "168256", "", {4, {4, 2, 4}}}}};
  const auto shape = std::find_if(kShapes.begin(), kShapes.end(), [&](const Shape& each) {
    return each.name == opcode.name() && !opcode.words().empty() && opcode.words()[0] == each.word &&
           (each.type.empty() || opcode.has({each.type}));
  });
  if (shape == kShapes.end() || opcode.has({"SP"})) {
    return std::nullopt;
  }
  Widths widths = shape->widths;
  if (opcode.words().size() > 1 && opcode.words()[1] == "F16") {
    widths.result = widths.sources[2] = 2;
  }
  return widths;
}

bool is_wide(std::string_view type) {
  return type == "F64" || type == "S64" || type == "U64";
}

// Conversions such as "F2F.F64.F32 R2, R0", "I2F.F64.S64" and "F2I.U64.TRUNC" name the result type, then the source.
Widths conversion_widths(const Opcode& opcode) {
  if (opcode.name() == "FRND") {
    return opcode.has({"F64"}) ? Widths{2, {2, 1, 1}} : Widths{};
  }
  if (opcode.name() != "F2F") {
    const bool to_float = opcode.name() == "I2F";
    const size_t real = opcode.has({"F64"}) ? 2 : 1;
    const size_t integer = opcode.has({"S64", "U64"}) ? 2 : 1;
    return {to_float ? real : integer, {to_float ? integer : real, 1, 1}};
  }
  std::vector<bool> wide;
  for (const std::string_view word : opcode.words()) {
    if (word == "F16" || word == "BF16" || word == "F32" || word == "F64") {
      wide.push_back(is_wide(word));
    }
  }
  return wide.size() < 2 ? Widths{} : Widths{wide[0] ? 2U : 1U, {wide[1] ? 2U : 1U, 1, 1}};
}

Widths widths_of(const Opcode& opcode, SassForm form) {
  switch (form) {
    case SassForm::wide:
      return {2, {2, 2, 2}};
    case SassForm::conversion:
      return conversion_widths(opcode);
    case SassForm::clock:
      return opcode.has({"32"}) ? Widths{} : Widths{2, {1, 1, 1}};
    case SassForm::matrix:
      return {matrix_width(opcode), {1, 1, 1}};
    case SassForm::load:
      return {data_width(opcode), {1, 1, 1}};
    case SassForm::atomic: {
      const size_t width = data_width(opcode);
      return {width, {width, width, width}};
    }
    default:
      break;
  }
  if (opcode.has({"WIDE"})) {
    return {2, {1, 1, 2}};
  }
  return opcode.has({"64"}) ? Widths{2, {2, 2, 2}} : Widths{};
}

class Parser {
 public:
  Parser(std::string_view text, SassInstruction& result) : whole_(text), text_(text), result_(result) {}

  void run() {
    take_guard();
    const std::string_view word = text_.substr(0, text_.find(' '));
    text_.remove_prefix(std::min(word.size() + 1, text_.size()));
    const Opcode opcode(word);
    const SassOpcode* const known = sass_opcode(opcode.name());
    if (!split() || known == nullptr || !known_operands()) {
      spoil();
      return;
    }
    result_.understood = true;
    result_.kind = known->kind;
    result_.flow = known->flow;
    take(opcode, *known);
    finish(opcode);
  }

 private:
  // Parses a guard "@!P0 ".
  void take_guard() {
    if (!text_.starts_with('@')) {
      return;
    }
    const std::string_view word = text_.substr(0, text_.find(' '));
    text_.remove_prefix(std::min(word.size() + 1, text_.size()));
    guard_ = parse_sass_operand(word.substr(1));
    result_.guarded = true;
  }

  bool split() {
    while (!text_.empty()) {
      const std::string_view operand = next_sass_operand(text_);
      if (operands_.size() == kMostOperands) {
        return false;
      }
      operands_.push_back(parse_sass_operand(operand));
    }
    return true;
  }

  [[nodiscard]] bool known_operands() const {
    return std::all_of(operands_.begin(), operands_.end(), [](const SassOperand& each) { return each.valid; });
  }

  // Adds all registers to may_write, because the results of the instruction and the widths of its operands are
  // unknown.
  void spoil() {
    for (const SassOperand& each : operands_) {
      for (const SassOperand::Register& place : each.registers) {
        add(place, kMayBeAsWide, result_.may_write);
      }
    }
  }

  static void add(const SassOperand::Register& place, size_t width, SassRegisterSet& to) {
    for (size_t i = 0; i < width && place.number + i < place.end; ++i) {
      to.set(place.number + i);
    }
  }

  void write(const SassOperand& operand, size_t width) {
    for (const SassOperand::Register& place : operand.registers) {
      add(place, width, result_.writes);
    }
  }

  // If an operand is an address, its text gives the width of its registers, not `width`.
  void read(const SassOperand& operand, size_t width) {
    for (const SassOperand::Register& place : operand.registers) {
      add(place, std::max(operand.is_memory ? size_t{1} : width, place.width), result_.reads);
    }
  }

  [[nodiscard]] bool is_result_predicate(size_t at) const {
    return at < operands_.size() && operands_[at].is_predicate && !operands_[at].negated;
  }

  [[nodiscard]] bool is_result_register(size_t at) const {
    return at < operands_.size() && !operands_[at].is_predicate && !operands_[at].is_memory;
  }

  void take(const Opcode& opcode, const SassOpcode& known) {
    switch (known.form) {
      case SassForm::reads:
        return read_from(0, {});
      case SassForm::store:
        return take_store(opcode, data_width(opcode));
      case SassForm::matrix_store:
        return take_store(opcode, matrix_width(opcode));
      case SassForm::predicates:
        return take_predicates(opcode);
      case SassForm::mma:
        return take_mma(opcode);
      case SassForm::texture:
        return take_texture();
      case SassForm::to_predicates:
        result_.may_write |= operands_.empty() ? SassRegisterSet() : all_of(operands_[0]);
        return read_from(1, {});
      default:
        return take_result(opcode, known);
    }
  }

  static SassRegisterSet all_of(const SassOperand& operand) {
    SassRegisterSet all;
    for (const SassOperand::Register& place : operand.registers) {
      add(place, place.width, all);
    }
    return all;
  }

  void read_from(size_t at, const Widths& widths) {
    size_t source = 0;
    for (; at < operands_.size(); ++at) {
      const bool counts = !operands_[at].is_memory && !operands_[at].is_predicate;
      const bool first_three = source < widths.sources.size();
      read(operands_[at], counts && first_three ? widths.sources[source] : 1);
      // Constants count as source operands; memory addresses do not.
      source += operands_[at].is_predicate || (operands_[at].is_memory && !operands_[at].is_constant) ? 0 : 1;
    }
  }

  // Takes the first register and the predicates around it as results: "IADD3 R4, P0, P1, R2, R3, RZ", "LOP3.LUT P0,
  // RZ, R0, ...", "ATOMG.E.ADD PT, R4, [R2.64], R5".
  void take_result(const Opcode& opcode, const SassOpcode& known) {
    const Widths widths = widths_of(opcode, known.form);
    const size_t results = opcode.has({"ENL2"}) ? 2 : 1;
    size_t at = 0;
    if (is_result_predicate(at)) {
      write(operands_[at++], 1);  // "VOTE.ALL P0, P1" has no other result
    }
    for (size_t i = 0; i < results && is_result_register(at); ++i, ++at) {
      write(operands_[at], widths.result / results);
    }
    const bool behind_register = at > 0 && is_result_register(at - 1);
    for (size_t more = 0; behind_register && more < known.more_predicates && is_result_predicate(at); ++more, ++at) {
      write(operands_[at], 1);
    }
    read_from(at, widths);
  }

  void take_store(const Opcode& /*opcode*/, size_t width) { read_from(0, {1, {width, width, width}}); }

  // Takes the first two operands as results: "ISETP.GE.AND P0, PT, R0, R1, PT".
  void take_predicates(const Opcode& opcode) {
    size_t at = 0;
    for (; at < 2 && is_result_predicate(at); ++at) {
      write(operands_[at], 1);
    }
    const bool wide = opcode.name() == "DSETP" || opcode.has({"64"});
    read_from(at, wide ? Widths{1, {2, 2, 1}} : Widths{});
  }

  void take_mma(const Opcode& opcode) {
    const auto widths = mma_widths(opcode);
    if (operands_.empty()) {
      return;
    }
    write(operands_[0], widths ? widths->result : 1);
    if (!widths) {
      const bool of_warp_group = opcode.name().find("GMMA") != std::string_view::npos;
      for (const SassOperand::Register& place : operands_[0].registers) {
        add(place, of_warp_group ? 128 : kMayBeAsWide, result_.may_write);
      }
    }
    read_from(1, widths ? *widths : Widths{});
  }

  // Each of the two results has one or two registers. A mask operand decides how many, but not every nvdisasm version
  // prints it.
  void take_texture() {
    for (size_t at = 0; at < std::min<size_t>(2, operands_.size()); ++at) {
      if (!operands_[at].is_memory) {
        write(operands_[at], 1);
        for (const SassOperand::Register& place : operands_[at].registers) {
          add(place, 4, result_.may_write);
        }
      }
    }
    read_from(2, {});
  }

  void finish(const Opcode& opcode) {
    result_.may_write &= ~result_.writes;
    const SassFlow flow = result_.flow;
    const bool asks = std::any_of(operands_.begin(), operands_.end(), [](const SassOperand& each) {
      return each.is_predicate && (!each.registers.empty() || each.negated);
    });
    result_.conditional = guard_is_real() || asks || opcode.has({"DIV", "CONV", "COLLECTIVE"});
    if (flow == SassFlow::barrier || flow == SassFlow::sync) {
      result_.barrier = operands_.empty() ? 0 : operands_[0].barrier;
    }
    if (guard_) {
      read(*guard_, 1);
    }
    result_.guarded = guard_is_real();
    if (opcode.name() == "LDGSTS") {
      result_.writes.set(kSassCopies);
    } else if (opcode.name() == "DEPBAR" && whole_.ends_with("SB0, 0x0")) {
      result_.reads.set(kSassCopies);
    }
  }

  // The guard "@PT" is always true.
  [[nodiscard]] bool guard_is_real() const { return guard_ && (!guard_->registers.empty() || guard_->negated); }

  std::string_view whole_;
  std::string_view text_;
  SassInstruction& result_;
  std::optional<SassOperand> guard_;
  std::vector<SassOperand> operands_;
};

}  // namespace

std::string_view sass_kind_word(SassKind kind) {
  switch (kind) {
    case SassKind::load:
      return "load";
    case SassKind::local_load:
      return "local load";
    case SassKind::texture_load:
      return "texture load";
    case SassKind::atomic:
      return "atomic";
    case SassKind::async_copy:
      return "asynchronous copy";
    case SassKind::shared_load:
      return "shared load";
    case SassKind::shared_atomic:
      return "shared atomic";
    case SassKind::constant_load:
      return "constant load";
    case SassKind::special_function:
      return "special function";
    case SassKind::shuffle:
      return "shuffle";
    case SassKind::special_register:
      return "special register";
    case SassKind::tensor:
      return "tensor core instruction";
    case SassKind::arithmetic:
      return "arithmetic";
    case SassKind::unknown:
    case SassKind::none:
      break;
  }
  return "";
}

SassInstruction parse_sass(std::string_view text) {
  SassInstruction result;
  Parser(text, result).run();
  return result;
}

}  // namespace gpuprof::symbolize
