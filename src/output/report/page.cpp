#include "output/report/page.h"

#include <algorithm>

#include "analyze/names/kernel_names.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

constexpr size_t kFirstColumn = 8;
constexpr size_t kPageColumn = 8;
constexpr size_t kFactWord = 9;
constexpr std::string_view kGap = "  ";
constexpr std::string_view kBelow = "          ";  // the indentation of a name that is in the line below its numbers
constexpr size_t kLeastPageName = 20;

constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kPlain = "\033[0m";

std::string numbers_text(const std::vector<std::string>& numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size(); ++i) {
    append_right(numbers[i], (i == 0 ? kFirstColumn : kPageColumn), out.append(i == 0 ? "" : " "));
  }
  return out.append(kGap);
}

}  // namespace

size_t width_behind(size_t numbers, size_t width) {
  const size_t used = numbers_text(std::vector<std::string>(numbers)).size();
  return std::max(kLeastPageName, width > used ? width - used : 0);
}

size_t width_below(size_t width) {
  return std::max(kLeastPageName, width > kBelow.size() ? width - kBelow.size() : 0);
}

size_t work_numbers(size_t width, bool one_line) {
  return one_line && width < kWide ? 4 : 6;
}

size_t width_beside(size_t width) {
  return width_behind(work_numbers(width, true), width);
}

std::string short_duration(uint64_t ns) {
  constexpr uint64_t kSecond = 1'000'000'000;
  constexpr uint64_t kMostSeconds = 9999;
  return ns / kSecond < kMostSeconds ? duration_text(ns) : short_count_text(ns / kSecond / 3600) + " h";
}

std::string cut_front(const std::string& text, size_t width) {
  constexpr std::string_view kCut = "...";
  size_t length = utf8_length(text);
  if (length <= width) {
    return text;
  }
  size_t at = 0;
  for (const size_t kept = width - std::min(width, kCut.size()); length > kept; --length) {
    at += std::max<size_t>(utf8_sequence(std::string_view(text).substr(at)), 1);
  }
  return std::string(kCut).append(text.substr(at));
}

void Page::fact(std::string_view word, const std::string& text) {
  std::string out(word);
  out.append(word.size() < kFactWord ? kFactWord - word.size() : 1, ' ');
  line(cut_middle(out + text, options_.full ? std::string::npos : std::max(width(), kLeastPageName)));
}

void Page::long_fact(std::string_view word, const std::string& text) {
  constexpr size_t kMostLines = 5;
  const size_t columns = std::max(width(), kLeastPageName);
  std::string& out = stream_.text();
  out.append(word).append(word.size() < kFactWord ? kFactWord - word.size() : 0, ' ');
  append_wrapped(options_.full ? text : cut_middle(text, kMostLines * (columns - kFactWord)),
                 options_.full ? std::string::npos : columns, std::string(kFactWord, ' '), out, kFactWord);
  stream_.checkpoint();
}

void Page::title(std::string_view text, size_t shown, size_t found) {
  std::string& out = stream_.text();
  out.append("\n").append(options_.colors ? kBold : "").append(text).append(options_.colors ? kPlain : "");
  line(part_shown(shown, found));
}

void Page::line(const std::string& text) {
  stream_.text().append(text).append("\n");
  stream_.checkpoint();
}

void Page::dim_line(const std::string& text) {
  line(options_.colors ? std::string(kDim).append(text).append(kPlain) : text);
}

void Page::clauses(std::string_view text, std::string_view indent) {
  constexpr std::string_view kFurther = "      ";
  std::string out(indent);
  bool begins = true;
  while (!text.empty()) {
    const size_t comma = text.find(", ");
    const std::string_view clause = comma == std::string_view::npos ? text : text.substr(0, comma + 1);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 2);
    if (!begins && utf8_length(out) + utf8_length(clause) + 1 > width()) {
      line(out);
      out = kFurther;
      begins = true;
    }
    out.append(begins ? "" : " ").append(clause);
    begins = false;
  }
  line(out);
}

void Page::prose(std::string_view text) {
  std::string out = " ";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (out.find_first_not_of(' ') != std::string::npos && utf8_length(out) + 1 + utf8_length(word) > width()) {
      line(out);
      out = "   ";
    }
    out.append(" ").append(word);
    at = end + 1;
  }
  line(out);
}

std::string Page::name(std::string_view name, size_t width, Naming naming) const {
  if (naming == Naming::signature && !options_.full) {
    // Do not use shown_ends(): without its middle, a signature has unbalanced brackets.
    return analyze::short_kernel_name(shown_name(shown_text(name)), width, analyze::Named::function);
  }
  std::string shown = shown_name(shown_text(name));
  return options_.full ? shown : cut_middle(shown, width);
}

size_t Page::name_width(size_t numbers) const {
  return detail_.one_line ? width_behind(numbers, width()) : width_below(width());
}

void Page::columns(const std::vector<std::string>& columns, std::string_view name) {
  dim_line(numbers_text(columns).append(name));
}

void Page::row(const std::vector<std::string>& numbers, const std::string& text) {
  std::string line_text = numbers_text(numbers);
  const size_t room = width_behind(numbers.size(), width());
  if (options_.full || utf8_length(text) <= room) {
    line(line_text + text);
  } else if (detail_.one_line) {
    line(line_text + cut_middle(text, room));
  } else {
    line_text.resize(line_text.find_last_not_of(' ') + 1);
    line(line_text);
    line(std::string(kBelow) + text);
  }
}

}  // namespace gpuprof::output
