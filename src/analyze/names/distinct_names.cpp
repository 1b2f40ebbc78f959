#include "analyze/names/distinct_names.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "analyze/names/kernel_names.h"
#include "base/text/utf8.h"

namespace gpuprof::analyze {
namespace {

// If more names than this have one short form, they are distinguished by numbers ("#2"). No screen shows so many names,
// so it is not worth the time to find the arguments in which they differ.
constexpr size_t kMostAlike = 100;
constexpr size_t kMostDifferences = 3;  // maximum number of differing arguments to show for one name
constexpr std::string_view kOpening = "<({[";
constexpr std::string_view kClosing = ">)}]";
constexpr const char* kPlainEnds = "_:";  // in names without brackets, a word ends at one of these characters

using SameNames = std::vector<size_t>;  // indexes into the list of names

// True for a name without template arguments: "sm80_xmma_gemm_f32f32_tn_n".
bool is_plain(std::string_view text) {
  return text.find_first_of(kOpening) == std::string_view::npos;
}

bool all_equal(const std::vector<std::string>& texts) {
  return std::all_of(texts.begin(), texts.end(), [&texts](const std::string& text) { return text == texts.front(); });
}

// Returns the length of the common prefix, up to the start of the argument (or word) in which the texts differ.
size_t common_begin(const std::vector<std::string>& texts) {
  size_t length = texts.front().size();
  for (const std::string& text : texts) {
    const auto differs = std::mismatch(text.begin(), text.end(), texts.front().begin(), texts.front().end());
    length = std::min(length, static_cast<size_t>(differs.first - text.begin()));
  }
  const std::string_view begin = std::string_view(texts.front()).substr(0, length);
  const size_t before = begin.find_last_of(is_plain(texts.front()) ? kPlainEnds : "<({[, ");
  return before == std::string_view::npos ? 0 : before + 1;
}

// Returns the length of the texts' common suffix after `begin`. A word counts only if all of it is common.
size_t common_end(const std::vector<std::string>& texts, size_t begin) {
  const std::string& first = texts.front();
  size_t length = first.size() - begin;
  for (const std::string& text : texts) {
    const auto differs = std::mismatch(text.rbegin(), text.rend() - static_cast<std::ptrdiff_t>(begin), first.rbegin(),
                                       first.rend() - static_cast<std::ptrdiff_t>(begin));
    length = std::min(length, static_cast<size_t>(differs.first - text.rbegin()));
  }
  const size_t end = first.find_first_of(kPlainEnds, first.size() - length);
  return end == std::string::npos ? 0 : first.size() - end;
}

// Returns the argument that begins at `begin`, up to the next comma or closing bracket.
std::string argument_at(const std::string& text, size_t begin) {
  size_t depth = 0;
  size_t end = begin;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (depth == 0 && (c == ',' || kClosing.find(c) != std::string_view::npos)) {
      break;
    }
    depth += kOpening.find(c) != std::string_view::npos ? 1 : 0;
    depth -= kClosing.find(c) != std::string_view::npos ? 1 : 0;
  }
  std::string argument = text.substr(begin, end - begin);
  constexpr std::string_view kShortened = "<...>";
  if (argument.ends_with(kShortened)) {
    argument.resize(argument.size() - kShortened.size());
  }
  return argument.empty() ? "-" : argument;
}

// Finds the arguments that distinguish names whose short forms are equal.
class NameDifferences {
 public:
  NameDifferences(const std::vector<std::string>& names, const SameNames& group) : names_(names) {
    std::vector<SameNames> groups = {group};
    for (size_t form = 0; form < kKernelNameForms && !groups.empty(); ++form) {
      std::vector<SameNames> further;
      for (const SameNames& alike : groups) {
        part(alike, form, further);
      }
      groups = std::move(further);
    }
  }

  // Returns the arguments that distinguish the name from the others of its group, such as "FillFunctor, half", or "".
  [[nodiscard]] std::string of(size_t name) const {
    const auto found = differences_.find(name);
    return found == differences_.end() ? std::string() : found->second;
  }

 private:
  // Shortens the group's names with kernel_name_form(form), and divides the group by the arguments in which the names
  // differ. Appends the subgroups that cannot be divided this way to `further`.
  void part(const SameNames& group, size_t form, std::vector<SameNames>& further) {
    std::vector<SameNames> groups = {group};
    for (size_t round = 0; round < kMostDifferences && !groups.empty(); ++round) {
      std::vector<SameNames> rest;
      for (const SameNames& alike : groups) {
        part_once(alike, form, round + 1 == kMostDifferences, rest, further);
      }
      groups = std::move(rest);
    }
  }

  void part_once(const SameNames& group, size_t form, bool is_last, std::vector<SameNames>& rest,
                 std::vector<SameNames>& further) {
    std::vector<std::string> texts;
    for (const size_t name : group) {
      texts.push_back(kernel_name_form(names_[name], form));
    }
    if (all_equal(texts)) {
      further.push_back(group);
      return;
    }
    const size_t begin = common_begin(texts);
    const bool plain = std::all_of(texts.begin(), texts.end(), is_plain);
    const size_t end = plain ? common_end(texts, begin) : 0;
    std::map<std::string, SameNames> parted;
    for (size_t i = 0; i < group.size(); ++i) {
      const std::string argument = argument_at(texts[i].substr(0, texts[i].size() - end), begin);
      std::string& difference = differences_[group[i]];
      difference.append(difference.empty() ? "" : ", ").append(argument);
      parted[argument].push_back(group[i]);
    }
    for (const auto& [argument, names] : parted) {
      if (names.size() > 1) {
        (is_last ? further : rest).push_back(names);
      }
    }
  }

  const std::vector<std::string>& names_;
  std::unordered_map<size_t, std::string> differences_;
};

std::string with_difference(const std::string& name, const std::string& difference, size_t width) {
  if (difference.empty()) {
    return short_kernel_name(name, width);
  }
  constexpr size_t kAround = 3;  // length of " [" and "]"
  const size_t least_name = width / 3;
  const std::string shown = cut_middle(difference, width - std::min(width, least_name + kAround));
  const size_t left = width - std::min(width, utf8_length(shown) + kAround);
  return cut_middle(kernel_name_form(name, 0), left).append(" [").append(shown).append("]");
}

void distinguish(const std::vector<std::string>& names, const SameNames& group, size_t width,
                 std::vector<std::string>& shown) {
  const bool all_fit =
      std::all_of(group.begin(), group.end(), [&](size_t name) { return utf8_length(names[name]) <= width; });
  if (all_fit) {
    for (const size_t name : group) {
      shown[name] = names[name];
    }
    return;
  }
  const NameDifferences alike(names, group);
  for (const size_t name : group) {
    shown[name] = with_difference(names[name], alike.of(name), width);
  }
}

}  // namespace

std::vector<std::string> distinct_kernel_names(const std::vector<std::string>& names, size_t width, Named what) {
  std::vector<std::string> shown(names.size());
  std::unordered_map<std::string, SameNames> groups;
  for (size_t i = 0; i < names.size(); ++i) {
    shown[i] = short_kernel_name(names[i], width, what);
    groups[shown[i]].push_back(i);
  }
  for (const auto& [text, group] : groups) {
    if (group.size() > 1 && group.size() <= kMostAlike) {
      distinguish(names, group, width, shown);
    }
  }
  number_equal_texts(shown, width);
  return shown;
}

void number_equal_texts(std::vector<std::string>& texts, size_t width) {
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, size_t> last;
  for (std::string& text : texts) {
    const std::string as_it_was = text;
    while (!taken.insert(text).second) {
      size_t& number = last.try_emplace(as_it_was, 1).first->second;
      const std::string mark = " #" + std::to_string(++number);
      text = cut_middle(as_it_was, std::max(width, utf8_length(as_it_was)) - mark.size()).append(mark);
    }
  }
}

}  // namespace gpuprof::analyze
