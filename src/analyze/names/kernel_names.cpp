#include "analyze/names/kernel_names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "analyze/names/labels.h"
#include "base/text/utf8.h"

namespace gpuprof::analyze {
namespace {

// Longer or more deeply nested names stay unchanged: compilers do not make them, and hostile names must not cost time.
constexpr size_t kLongestName = size_t{64} << 10U;
constexpr size_t kDeepest = 32;
constexpr std::string_view kLeftOut = "...";
constexpr size_t kNone = std::string_view::npos;

struct Style {
  size_t qualifiers = kNone;  // number of the kernel's own namespaces and classes to keep, counted from the innermost
  size_t depth = kDeepest;    // number of levels of nested arguments to keep
};

// One part of "a::b<c>(d)::{lambda(e)#1}".
struct Component {
  std::string_view name;
  std::string_view arguments;
  std::string_view tail;  // what follows the arguments, such as " const*"
  bool has_arguments = false;
  bool has_parameters = false;
  bool is_lambda = false;  // true: `arguments` holds the lambda's parameters
  bool is_unnamed = false;

  [[nodiscard]] bool is_plain() const { return !has_arguments && !has_parameters && !is_lambda; }
};

template <size_t N>
bool is_any_of(std::string_view text, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == kNone ? std::string_view() : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

bool is_name_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Returns the length of "operator<<" or the like if it starts at `at`; 0 otherwise.
size_t operator_length(std::string_view text, size_t at) {
  constexpr std::string_view kWord = "operator";
  if (text.substr(at, kWord.size()) != kWord || (at > 0 && is_name_character(text[at - 1]))) {
    return 0;
  }
  static constexpr std::array<std::string_view, 13> kBracketed = {"()", "[]", "<<=", ">>=", "<=>", "->*", "<<",
                                                                  ">>", "<=", ">=",  "->",  "<",   ">"};
  const std::string_view rest = text.substr(at + kWord.size());
  for (const std::string_view symbol : kBracketed) {
    if (rest.starts_with(symbol)) {
      return kWord.size() + symbol.size();
    }
  }
  return 0;  // other operators contain no brackets, so they are parsed like ordinary names
}

// Returns the position after the token at `at`, and updates the bracket depth. Unmatched brackets make it negative.
size_t step(std::string_view text, size_t at, int& depth) {
  if (const size_t length = operator_length(text, at); length > 0) {
    return at + length;
  }
  const char c = text[at];
  if (c == '-' && at + 1 < text.size() && text[at + 1] == '>') {
    return at + 2;
  }
  depth += c == '<' || c == '(' || c == '{' || c == '[' ? 1 : 0;
  depth -= c == '>' || c == ')' || c == '}' || c == ']' ? 1 : 0;
  return at + 1;
}

// Returns the position after the bracket that closes the one at `open`.
size_t group_end(std::string_view text, size_t open) {
  int depth = 0;
  size_t at = open;
  do {
    at = step(text, at, depth);
  } while (depth > 0 && at < text.size());
  return depth == 0 ? at : kNone;
}

std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == ',' && depth == 0) {
      parts.push_back(trimmed(text.substr(begin, at - begin)));
      begin = at + 1;
    }
    at = step(text, at, depth);
  }
  if (!trimmed(text).empty()) {
    parts.push_back(trimmed(text.substr(begin)));
  }
  return parts;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  // Returns nullopt if the text is not a qualified name but, for example, a function pointer or an expression.
  std::optional<std::vector<Component>> components() {
    while (at_ < text_.size()) {
      if (!take_next()) {
        return std::nullopt;
      }
    }
    parts_.push_back(part_);
    return std::move(parts_);
  }

 private:
  bool take_next() {
    if (text_.substr(at_, 2) == "::") {
      parts_.push_back(std::exchange(part_, {}));
      at_ += 2;
      return true;
    }
    switch (text_[at_]) {
      case '<':
      case '(':
      case '{':
      case '[':
        return take_group();
      default:
        break;
    }
    const size_t length = std::max<size_t>(operator_length(text_, at_), 1);
    std::string_view& grown = part_.is_plain() && !part_.is_unnamed ? part_.name : part_.tail;
    grown = grown.empty() ? text_.substr(at_, length)
                          : std::string_view(grown.data(), static_cast<size_t>(&text_[at_] - grown.data()) + length);
    at_ += length;
    return true;
  }

  bool take_group() {
    const size_t end = group_end(text_, at_);
    if (end == kNone) {
      return false;
    }
    const char open = text_[at_];
    const std::string_view inner = text_.substr(at_ + 1, end - at_ - 2);
    at_ = end;
    if (part_.name.empty() && part_.is_plain()) {
      return take_unnamed(open, inner);
    }
    if (open == '[' && inner.starts_with("abi:")) {
      return true;
    }
    if (open == '<' && part_.is_plain()) {
      part_.has_arguments = true;
      part_.arguments = inner;
      return true;
    }
    const char before = part_.name.empty() ? ' ' : part_.name.back();
    part_.has_parameters = true;
    return open == '(' && part_.tail.empty() && before != ' ' && before != '*' && before != '&';
  }

  bool take_unnamed(char open, std::string_view inner) {
    const bool qualifies = text_.substr(at_, 2) == "::";
    if (open == '(' && !qualifies) {
      // True for a cast: the name begins with this text in parentheses, and continues after it.
      return parts_.empty() && at_ < text_.size();
    }
    part_.is_unnamed = qualifies && (open == '<' || open == '(' || inner == "anonymous");
    if (part_.is_unnamed) {
      return true;
    }
    constexpr std::string_view kLambda = "lambda(";
    part_.is_lambda = inner.starts_with(kLambda);
    if (part_.is_lambda) {
      const size_t end = group_end(inner, kLambda.size() - 1);
      part_.arguments = end == kNone ? "" : inner.substr(kLambda.size(), end - kLambda.size() - 1);
    }
    part_.name = part_.is_lambda ? kLambda.substr(0, kLambda.size() - 1) : inner;
    return open == '{' || open == '[';
  }

  std::string_view text_;
  size_t at_ = 0;
  Component part_;
  std::vector<Component> parts_;
};

// True for an inline namespace that carries a version, such as "__cxx11" or "THRUST_200302_800_NS".
bool is_version(const Component& part) {
  static constexpr std::array<std::string_view, 3> kStandard = {"__1", "__cxx11", "_V2"};
  const bool cccl = (part.name.starts_with("CUB_") || part.name.starts_with("THRUST_")) && part.name.ends_with("_NS");
  return part.is_plain() && (cccl || is_any_of(part.name, kStandard));
}

void drop_unread(std::vector<Component>& parts) {
  std::vector<Component> kept;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Component& part = parts[i];
    const bool is_last = i + 1 == parts.size();
    const bool of_lambda = part.name == "operator()" && !is_last;
    const bool qualifies = !is_last && (is_version(part) || part.name.empty());
    if (part.is_unnamed || of_lambda || qualifies) {
      continue;
    }
    if (part.is_lambda && !kept.empty() && kept.back().is_lambda) {
      kept.pop_back();
    }
    kept.push_back(part);
  }
  parts = std::move(kept);
}

// Removes leading qualifiers except the last `kept`. Also keeps the function around a lambda, because it says more.
void drop_namespaces(std::vector<Component>& parts, size_t kept) {
  size_t drop = 0;
  while (drop + 1 < parts.size() && parts[drop].is_plain() && !parts[drop + 1].is_lambda) {
    ++drop;
  }
  drop -= std::min(drop, kept);
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(drop));
}

std::string_view without_suffix(std::string_view name) {
  const size_t digits = name.starts_with("-") ? 1 : 0;
  const size_t end = name.find_first_not_of("0123456789", digits);
  const bool is_number = end != kNone && end > digits && name.find_first_not_of("uUlL", end) == kNone;
  return is_number ? name.substr(0, end) : name;
}

// Returns the argument's name without its namespaces and its own arguments.
std::string_view plain_name(std::string_view argument) {
  const std::string_view head = argument.substr(0, argument.find_first_of("<(*& "));
  const size_t colons = head.rfind("::");
  return colons == kNone ? head : head.substr(colons + 2);
}

bool is_plumbing(std::string_view argument) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "TrivialOffsetCalculator", "OffsetCalculator", "LoadWithoutCast",
      "StoreWithoutCast",        "LoadWithCast",     "StoreWithCast"};
  const std::string_view name = plain_name(argument);
  return is_any_of(name, kNames) || ((name == "array" || name == "Array") && argument.find("<char*,") != kNone);
}

bool is_default(std::string_view argument) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "std::allocator", "std::less", "std::hash", "std::char_traits", "std::equal_to", "std::default_delete"};
  return is_any_of(argument.substr(0, argument.find('<')), kNames);
}

std::string render(std::string_view text, const Style& style, size_t depth);

std::string render_arguments(std::string_view text, const Style& style, size_t depth) {
  if (trimmed(text).empty()) {
    return {};
  }
  if (depth >= style.depth) {
    return std::string(kLeftOut);
  }
  std::string out;
  bool left_out = false;
  for (const std::string_view argument : split_arguments(text)) {
    if (!out.empty() && is_default(argument)) {
      continue;
    }
    const bool leave_out = is_plumbing(argument);
    if (!(leave_out && left_out)) {
      out.append(out.empty() ? "" : ", ").append(leave_out ? kLeftOut : render(argument, style, depth + 1));
    }
    left_out = leave_out;
  }
  return out;
}

std::string render(std::vector<Component> parts, const Style& style, size_t depth) {
  drop_unread(parts);
  drop_namespaces(parts, depth > 0 ? 0 : style.qualifiers);
  std::string out;
  for (const Component& part : parts) {
    out.append(out.empty() ? "" : "::");
    if (part.is_lambda) {
      out.append("{lambda(").append(render_arguments(part.arguments, style, depth)).append(")}");
    } else {
      out.append(without_suffix(part.name));
    }
    if (part.has_arguments) {
      out.append("<").append(render_arguments(part.arguments, style, depth)).append(">");
    }
    out.append(part.has_parameters ? std::string_view() : part.tail);
  }
  return out;
}

std::string render(std::string_view text, const Style& style, size_t depth) {
  auto parts = Parser(trimmed(text)).components();
  return parts ? render(*std::move(parts), style, depth) : std::string(trimmed(text));
}

// If `parts` name a wrapper kernel of CUTLASS or Thrust, returns the kernel that it runs; otherwise `parts`.
std::vector<Component> unwrapped(std::vector<Component> parts) {
  static constexpr std::array<std::string_view, 3> kCutlass = {"Kernel", "Kernel2", "device_kernel"};
  const Component& last = parts.back();
  const bool wraps =
      (parts.front().name == "cutlass" && is_any_of(last.name, kCutlass)) || last.name == "_kernel_agent";
  if (!wraps || !last.has_arguments) {
    return parts;
  }
  const auto arguments = split_arguments(last.arguments);
  auto inner = arguments.empty() ? std::nullopt : Parser(arguments.front()).components();
  return inner && inner->back().name.find_first_not_of(' ') != kNone ? *std::move(inner) : std::move(parts);
}

std::string_view without_decoration(std::string_view name) {
  constexpr std::string_view kSycl = "typeinfo name for ";
  name.remove_prefix(name.starts_with(kSycl) ? kSycl.size() : 0);
  name.remove_suffix(name.ends_with(".kd") ? 3 : 0);
  for (size_t clone = name.rfind(" [clone "); clone != kNone && name.ends_with("]"); clone = name.rfind(" [clone ")) {
    name = name.substr(0, clone);
  }
  return name;
}

// Returns the text after the last space outside of brackets. The space of "operator bool" does not count.
std::string_view without_return_type(std::string_view head) {
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at < head.size();) {
    if (head[at] == ' ' && depth == 0 && !head.substr(0, at).ends_with("operator")) {
      begin = at + 1;
    }
    at = step(head, at, depth);
  }
  return begin < head.size() ? head.substr(begin) : head;
}

// Returns nullopt if short names must show the name unchanged.
std::optional<std::vector<Component>> parts_of(std::string_view name) {
  if (name.starts_with("[") || name.size() > kLongestName) {
    return std::nullopt;
  }
  name = without_decoration(name);
  const std::string_view head = without_parameters(name);
  if (head.size() == name.size() && !head.ends_with(">") && !head.ends_with("}")) {
    const bool is_plain = name.find_first_of("<({") == kNone;
    return is_plain ? std::optional(std::vector{Component{.name = name}}) : std::nullopt;
  }
  auto parts = Parser(without_return_type(head)).components();
  return parts && !parts->back().name.empty() ? std::optional(unwrapped(*std::move(parts))) : std::nullopt;
}

constexpr std::array<Style, kKernelNameForms - 1> kForms = {{{.qualifiers = 0, .depth = 0},
                                                             {.qualifiers = 0, .depth = 1},
                                                             {.qualifiers = 0, .depth = 2},
                                                             {.qualifiers = 0},
                                                             {}}};

}  // namespace

std::string kernel_name_form(std::string_view name, size_t form) {
  auto parts = form < kForms.size() ? parts_of(name) : std::nullopt;
  if (!parts) {
    return std::string(name);
  }
  if (form == 0) {
    parts->back().has_arguments = false;
  }
  return render(*std::move(parts), kForms[form], 0);
}

std::string short_kernel_name(std::string_view name) {
  const auto parts = parts_of(name);
  return parts ? render(*parts, {}, 0) : std::string(name);
}

std::string short_kernel_name(std::string_view name, size_t width, Named what) {
  const auto parts = parts_of(name);
  if (!parts) {
    return cut_middle(name, width);
  }
  const size_t kept = what == Named::function ? 1 : 0;
  const std::array<Style, 6> styles = {{{},
                                        {.depth = 2},
                                        {.qualifiers = kept, .depth = 2},
                                        {.depth = 1},
                                        {.qualifiers = kept, .depth = 1},
                                        {.qualifiers = kept, .depth = 0}}};
  std::string text;
  for (const Style& style : styles) {
    text = render(*parts, style, 0);
    if (utf8_length(text) <= width) {
      return text;
    }
  }
  return cut_middle(render(*parts, styles[4], 0), width);
}

}  // namespace gpuprof::analyze
