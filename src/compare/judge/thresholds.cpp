#include "compare/judge/thresholds.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "analyze/names/kernel_names.h"
#include "base/text/utf8.h"

namespace gpuprof::compare {
namespace {

constexpr std::string_view kSpace = " \t\r";
constexpr std::string_view kHint =
    "a line is: GLOB PERCENT% [until YYYY-MM-DD] REASON; put a glob with spaces in double quotes";
constexpr size_t kMostBytes = size_t{1} << 20U;

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string_view next_word(std::string_view& rest) {
  rest = trimmed(rest);
  const size_t end = std::min(rest.find_first_of(kSpace), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest = trimmed(rest.substr(end));
  return word;
}

// Returns false if a quote is not closed.
bool take_glob(std::string_view& rest, std::string_view& glob) {
  if (!rest.starts_with('"')) {
    glob = next_word(rest);
    return true;
  }
  const size_t end = rest.find('"', 1);
  if (end == rest.npos) {
    return false;
  }
  glob = rest.substr(1, end - 1);
  rest = trimmed(rest.substr(end + 1));
  return true;
}

bool parse_percent(std::string_view word, double& percent) {
  constexpr double kMost = 1e6;
  if (!word.ends_with('%')) {
    return false;
  }
  word.remove_suffix(1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), percent, std::chars_format::fixed);
  return error == std::errc() && end == word.data() + word.size() && percent >= 0 && percent <= kMost;
}

bool is_date(std::string_view word) {
  constexpr std::string_view kShape = "dddd-dd-dd";
  if (word.size() != kShape.size()) {
    return false;
  }
  for (size_t i = 0; i < word.size(); ++i) {
    if (kShape[i] == 'd' ? word[i] < '0' || word[i] > '9' : word[i] != '-') {
      return false;
    }
  }
  const int month = (word[5] - '0') * 10 + (word[6] - '0');
  const int day = (word[8] - '0') * 10 + (word[9] - '0');
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

// Returns what is wrong with the line; empty if it is valid.
std::string parse_line(std::string_view rest, Threshold& entry) {
  std::string_view glob;
  if (!take_glob(rest, glob)) {
    return "the closing quote is missing";
  }
  if (glob.empty()) {
    return "the glob is empty";
  }
  entry.glob = glob;
  const std::string_view percent = next_word(rest);
  if (!parse_percent(percent, entry.percent)) {
    return percent.empty() ? "the percentage is missing" : "'" + escaped(percent) + "' is not a percentage such as 5%";
  }
  if (rest == "until" || rest.starts_with("until ") || rest.starts_with("until\t")) {
    next_word(rest);
    const std::string_view date = next_word(rest);
    if (!is_date(date)) {
      return "'" + escaped(date) + "' is not a date such as 2027-01-31";
    }
    entry.expires = date;
  }
  entry.reason = rest;
  return entry.reason.empty() ? "the reason is missing" : "";
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view name) {
  size_t at = 0;
  size_t after_star = glob.npos;  // if a later part does not match, only the last * must be tried again
  size_t taken = 0;
  size_t i = 0;
  while (i < name.size()) {
    if (at < glob.size() && glob[at] == '*') {
      after_star = ++at;
      taken = i;
    } else if (at < glob.size() && (glob[at] == '?' || glob[at] == name[i])) {
      ++at;
      ++i;
    } else if (after_star != glob.npos) {
      at = after_star;
      i = ++taken;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', at) == glob.npos;
}

const Threshold* Thresholds::find(std::string_view name) const {
  const std::string shortened = entries.empty() ? std::string() : analyze::short_kernel_name(name);
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Threshold& entry) {
    return glob_matches(entry.glob, name) || glob_matches(entry.glob, shortened);
  });
  return found == entries.end() ? nullptr : &*found;
}

const Threshold* Thresholds::allowing(std::string_view name, double percent) const {
  const Threshold* entry = find(name);
  return entry != nullptr && percent <= entry->percent ? entry : nullptr;
}

Result<Thresholds> parse_thresholds(std::string_view text, std::string file, std::string_view today,
                                    std::vector<std::string>& expired) {
  if (text.size() > kMostBytes) {
    return Error{.message = file + ": a file of thresholds must not exceed 1 MiB",
                 .hint = std::string(kHint),
                 .exit_code = kExitUsage};
  }
  Thresholds thresholds{.file = std::move(file), .entries = {}};
  unsigned number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    Threshold entry;
    entry.line = number;
    const std::string at = thresholds.file + ":" + std::to_string(number) + ": ";
    if (const std::string wrong = parse_line(line, entry); !wrong.empty()) {
      return Error{.message = at + wrong, .hint = std::string(kHint), .exit_code = kExitUsage};
    }
    if (!entry.expires.empty() && entry.expires < today) {
      expired.push_back(at + escaped(entry.glob) + " expired on " + entry.expires + " (" + escaped(entry.reason) + ")");
    } else {
      thresholds.entries.push_back(std::move(entry));
    }
  }
  return thresholds;
}

}  // namespace gpuprof::compare
