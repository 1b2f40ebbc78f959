#include "output/text.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_set>
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
constexpr size_t kLeastFrameWidth = 16;
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

void append_wrapped(std::string_view text, size_t width, std::string_view indent, std::string& out, size_t used) {
  bool first = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t needed = utf8_length(word);
    if (!first && used + 1 + needed > width) {
      out.append("\n").append(indent);
      used = indent.size();
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += needed;
    first = false;
  }
  out += '\n';
}

void append_right(const std::string& text, size_t width, std::string& out) {
  out.append(width > text.size() ? width - text.size() : 0, ' ').append(text);
}

std::string shown_text(std::string_view name) {
  size_t keep = std::min(name.size(), kMostShownBytes);
  // A cut must not split a UTF-8 character, which has at most three bytes after its first.
  for (size_t back = 0; keep < name.size() && back < 3 && (static_cast<unsigned char>(name[keep]) & 0xC0U) == 0x80U;
       ++back) {
    --keep;
  }
  return std::string(name.substr(0, keep)).append(keep == name.size() ? "" : "\xE2\x80\xA6");
}

std::string shown_ends(std::string_view name) {
  constexpr size_t kEnd = 4096;  // in bytes; much more than any table is wide
  return name.size() <= 2 * kEnd ? std::string(name)
                                 : std::string(name.substr(0, kEnd)).append(name.substr(name.size() - kEnd));
}

std::string shown_kernel(std::string_view name, size_t width) {
  // Do not use shown_ends(): without its middle, a signature has unbalanced brackets.
  return analyze::short_kernel_name(shown_name(shown_text(name)), width);
}

namespace {

// Returns the frames that identify a path, outermost first. If no frame does, returns all frames.
std::vector<Caller> identifying_frames(std::span<const Caller> path) {
  std::vector<Caller> frames;
  std::copy_if(path.begin(), path.end(), std::back_inserter(frames),
               [](const Caller& frame) { return !analyze::is_uninformative(frame.label); });
  if (frames.empty()) {
    frames.assign(path.begin(), path.end());
  }
  return frames;
}

std::string frame_text(std::string_view frame) {
  return cut_middle(shown_name(shown_ends(analyze::without_parameters(frame))), kMaxFrameWidth);
}

// Returns the positions of the frames, the most important one first: the innermost frame, the program's own frames,
// frames of libraries, frames of the vendor. The frames of a recursion come last, except the innermost one.
std::vector<size_t> callers_by_importance(std::span<const Caller> frames) {
  std::vector<std::pair<int, size_t>> order;  // pairs of class and distance from the innermost frame
  std::unordered_set<const char*> seen;       // addresses of labels, because comparing long labels would be slow
  for (size_t i = frames.size(); i-- > 0;) {
    const bool is_new = seen.insert(frames[i].label.data()).second;
    const bool is_call = i + 1 == frames.size();
    const int importance = is_call ? 0 : is_new ? 1 + static_cast<int>(frames[i].origin) : 9;
    order.emplace_back(importance, frames.size() - 1 - i);
  }
  std::sort(order.begin(), order.end());
  std::vector<size_t> positions;
  positions.reserve(order.size());
  for (const auto& [importance, distance] : order) {
    positions.push_back(frames.size() - 1 - distance);
  }
  return positions;
}

// Joins the frames, and marks gaps between them. The key is a frame's position. The innermost frame must be present.
std::string joined_frames(const std::map<size_t, std::string>& frames) {
  std::string text;
  size_t next = 0;
  for (const auto& [position, frame] : frames) {
    if (position != next) {
      text.append(text.empty() ? "" : kCalls).append(kLeftOut);
    }
    text.append(text.empty() ? "" : kCalls).append(frame);
    next = position + 1;
  }
  return text;
}

// Formats the frames of one stack, outermost first. Converts only frames that fit, because a path may be long.
std::string one_path_text(std::string begin, std::span<const Caller> path, size_t width) {
  begin.append(begin.empty() ? "" : " ");
  const size_t begin_width = utf8_length(begin);
  const std::vector<Caller> frames = identifying_frames(path);
  std::map<size_t, std::string> shown;
  std::string text;
  for (const size_t position : callers_by_importance(frames)) {
    std::string& frame = shown[position] = frame_text(frames[position].label);
    std::string longer = joined_frames(shown);
    const size_t needed = begin_width + utf8_length(longer);
    // The call and its innermost caller identify the path, so the caller is shortened instead of left out.
    if (needed > width && shown.size() == 2) {
      const size_t length = utf8_length(frame);
      const size_t kept = length - std::min(length, needed - width);
      if (kept >= kLeastFrameWidth) {
        frame = cut_middle(frame, kept);
        text = joined_frames(shown);
      }
    }
    if (needed > width && shown.size() > 1) {
      break;
    }
    text = std::move(longer);
  }
  return begin + text;
}

}  // namespace

std::vector<Caller> callers_of(const analyze::CallPath& path) {
  std::vector<Caller> frames;
  for (const analyze::PathFrame& frame : path.shown()) {
    frames.push_back({frame.label, frame.origin});
  }
  return frames;
}

std::string callers_text(std::string begin, std::span<const Caller> path, size_t width) {
  const auto capture =
      std::find_if(path.begin(), path.end(), [](const Caller& frame) { return frame.label == analyze::kCapturedAt; });
  if (capture == path.end()) {
    return one_path_text(std::move(begin), path, width);
  }
  const auto launch_frames = static_cast<size_t>(capture - path.begin());
  const std::string below(std::min(begin.find_first_not_of(' '), begin.size()), ' ');
  return one_path_text(std::move(begin), path.subspan(launch_frames + 1), width) + "\n" +
         one_path_text(below + "launched by", path.first(launch_frames), width);
}

}  // namespace gpuprof::output
