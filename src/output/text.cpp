#include "output/text.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "analyze/names/frame_origin.h"
#include "analyze/names/kernel_names.h"
#include "analyze/names/labels.h"
#include "analyze/paths/work_paths.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"

namespace gpuprof::output {
namespace {

constexpr size_t kMaxFrameWidth = 44;
constexpr std::string_view kCalls = " -> ";
constexpr std::string_view kLeftOut = "...";

}  // namespace

std::string shown_name(std::string_view name) {
  std::string text;
  append_escaped(name, {}, text);
  return text;
}

std::string part_shown(size_t shown, size_t found) {
  return found > shown ? " (" + count_text(shown) + " of " + count_text(found) + ")" : std::string();
}

void append_right(const std::string& text, size_t width, std::string& out) {
  out.append(width > text.size() ? width - text.size() : 0, ' ').append(text);
}

std::string shown_text(std::string_view name) {
  size_t keep = std::min(name.size(), kMostShownBytes);
  // Do not cut within a UTF-8 character, which has at most three bytes after its first.
  for (size_t back = 0; keep < name.size() && back < 3 && (static_cast<unsigned char>(name[keep]) & 0xC0U) == 0x80U;
       ++back) {
    --keep;
  }
  return std::string(name.substr(0, keep)).append(keep == name.size() ? "" : "\xE2\x80\xA6");
}

std::string shown_ends(std::string_view name) {
  constexpr size_t kEnd = 4096;  // bytes; much wider than any table
  return name.size() <= 2 * kEnd ? std::string(name)
                                 : std::string(name.substr(0, kEnd)).append(name.substr(name.size() - kEnd));
}

std::string shown_kernel(std::string_view name, size_t width) {
  // Do not use shown_ends(): without its middle, a signature has unbalanced brackets.
  return analyze::short_kernel_name(shown_name(shown_text(name)), width);
}

namespace {

// Returns the frames that identify a path, outermost first. If no frame does, returns all frames.
std::vector<std::string_view> identifying_frames(std::span<const std::string_view> path) {
  std::vector<std::string_view> frames;
  std::copy_if(path.begin(), path.end(), std::back_inserter(frames),
               [](std::string_view frame) { return !analyze::is_uninformative(frame); });
  if (frames.empty()) {
    frames.assign(path.begin(), path.end());
  }
  return frames;
}

std::string frame_text(std::string_view frame) {
  return cut_middle(shown_name(shown_ends(analyze::without_parameters(frame))), kMaxFrameWidth);
}

// Formats the frames of one stack, outermost first. Converts only frames that fit, as a path may be long.
std::string one_path_text(std::string begin, std::span<const std::string_view> path, size_t width) {
  std::string text = std::move(begin);
  text.append(text.empty() ? "" : " ");
  const std::vector<std::string_view> frames = identifying_frames(path);
  const size_t kept_free = utf8_length(text) + kLeftOut.size();
  size_t width_left = width > kept_free ? width - kept_free : 0;
  std::vector<std::string> inner;  // from the innermost frame outwards
  std::vector<std::string> outer;  // from the outermost frame inwards
  while (inner.size() + outer.size() < frames.size()) {
    const bool take_outer = inner.size() > outer.size();
    std::string next = frame_text(take_outer ? frames[outer.size()] : frames[frames.size() - 1 - inner.size()]);
    const size_t needed = kCalls.size() + utf8_length(next);
    const bool is_last = inner.size() + outer.size() + 1 == frames.size();  // if so, no space for "..." is needed
    if (!inner.empty() && needed > width_left + (is_last ? kCalls.size() + kLeftOut.size() : 0)) {
      break;
    }
    width_left -= std::min(width_left, needed);
    (take_outer ? outer : inner).push_back(std::move(next));
  }
  if (inner.size() + outer.size() < frames.size()) {
    outer.emplace_back(kLeftOut);
  }
  outer.insert(outer.end(), inner.rbegin(), inner.rend());
  for (size_t i = 0; i < outer.size(); ++i) {
    text.append(i == 0 ? "" : kCalls).append(outer[i]);
  }
  return text;
}

}  // namespace

std::string callers_text(std::string begin, std::span<const std::string_view> path, size_t width) {
  const auto capture = std::find(path.begin(), path.end(), analyze::kCapturedAt);
  if (capture == path.end()) {
    return one_path_text(std::move(begin), path, width);
  }
  const auto launch_frames = static_cast<size_t>(capture - path.begin());
  const std::string below(std::min(begin.find_first_not_of(' '), begin.size()), ' ');
  return one_path_text(std::move(begin), path.subspan(launch_frames + 1), width) + "\n" +
         one_path_text(below + "launched by", path.first(launch_frames), width);
}

}  // namespace gpuprof::output
