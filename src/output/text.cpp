#include "output/text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "analyze/call_path.h"
#include "analyze/labels.h"
#include "base/utf8.h"

namespace gpuprof::output {
namespace {

constexpr size_t kMaxFrameWidth = 44;
constexpr std::string_view kCaller = " <- ";
constexpr std::string_view kLeftOut = "...";

// A frame that tells a reader nothing: no function is known ("[libcuda.so.1+0x12ab]", "0x7f12", "[unknown]"), or it is
// how every thread starts.
bool tells_nothing(std::string_view frame) {
  static constexpr std::array<std::string_view, 8> kStart = {
      "_start",       "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "__clone3", "clone3",
      "start_thread", "[unknown]"};
  const bool no_symbol = frame.starts_with("[") && frame.ends_with("]") && frame.find("+0x") != frame.npos;
  return no_symbol || frame.starts_with("0x") || std::find(kStart.begin(), kStart.end(), frame) != kStart.end();
}

}  // namespace

std::string time_text(double ns) {
  struct Unit {
    double ns;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits = {{{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1, " ns"}}};
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(), [ns](const Unit& u) { return ns >= u.ns; });
  if (unit == kUnits.end()) {
    unit = &kUnits.back();
  }
  const double value = ns / unit->ns;
  char text[32];
  const int decimals = unit->ns == 1 && value == static_cast<double>(static_cast<uint64_t>(value)) ? 0
                       : value >= 100                                                              ? 1
                                                                                                   : 2;
  std::snprintf(text, sizeof text, "%.*f%s", decimals, value, unit->name);
  return text;
}

std::string count_text(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string percent_text(uint64_t part, uint64_t whole) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f%%",
                whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

std::string shown_name(std::string_view name) {
  std::string text;
  append_escaped(name, {}, text);
  return text;
}

void append_right(const std::string& text, size_t width, std::string& out) {
  out.append(width > text.size() ? width - text.size() : 0, ' ').append(text);
}

std::vector<std::string> telling_frames(const std::vector<std::string>& path) {
  std::vector<std::string> frames;
  for (const bool all : {false, true}) {
    for (auto frame = path.rbegin(); frame != path.rend(); ++frame) {
      if (all || !tells_nothing(*frame)) {
        frames.push_back(cut_middle(shown_name(analyze::without_parameters(*frame)), kMaxFrameWidth));
      }
    }
    if (!frames.empty()) {
      break;  // otherwise anything is better than nothing
    }
  }
  return frames;
}

namespace {

// One stack's frames, innermost first.
std::string one_path_text(std::string begin, const std::vector<std::string>& path, size_t width) {
  std::string text = std::move(begin);
  const std::vector<std::string> frames = telling_frames(path);
  const size_t kept_free = utf8_length(text) + kCaller.size() + kLeftOut.size();
  size_t room = width > kept_free ? width - kept_free : 0;
  size_t inner = 0;
  size_t outer = 0;
  while (inner + outer < frames.size()) {
    const bool take_outer = inner > outer;
    const std::string& next = take_outer ? frames[frames.size() - 1 - outer] : frames[inner];
    const size_t needed = kCaller.size() + utf8_length(next);
    const bool is_last = inner + outer + 1 == frames.size();  // then nothing is left out
    if (inner > 0 && needed > room + (is_last ? kCaller.size() + kLeftOut.size() : 0)) {
      break;
    }
    room -= std::min(room, needed);
    ++(take_outer ? outer : inner);
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    if (i < inner || i >= frames.size() - outer) {
      text.append(kCaller).append(frames[i]);
    } else if (i == inner) {
      text.append(kCaller).append(kLeftOut);
    }
  }
  return text;
}

}  // namespace

std::string callers_text(std::string begin, const std::vector<std::string>& path, size_t width) {
  const auto capture = std::find(path.begin(), path.end(), analyze::kCapturedAt);
  if (capture == path.end()) {
    return one_path_text(std::move(begin), path, width);
  }
  const std::string below(std::min(begin.find_first_not_of(' '), begin.size()), ' ');
  return one_path_text(std::move(begin), {capture + 1, path.end()}, width) + "\n" +
         one_path_text(below + "launched by", {path.begin(), capture}, width);
}

}  // namespace gpuprof::output
