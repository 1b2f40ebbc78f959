#include "output/report/paths.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "analyze/names/frame_origin.h"
#include "analyze/names/labels.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using analyze::Origin;
using analyze::PathFrame;

constexpr size_t kBetween = 2;  // number of blanks between a name and its location
constexpr std::string_view kIndent = "          ";
constexpr std::string_view kLeftOutBefore = "      ... ";
constexpr std::string_view kLeftOutAfter = " ...";
constexpr size_t kLeastPathWidth = 20;
static_assert(kIndent.size() == kLeftOutBefore.size());

bool is_mark(const PathFrame& frame) {
  return frame.cls == analyze::FrameClass::mark || frame.cls == analyze::FrameClass::note;
}

// Returns the frames that identify a path. If no frame does, returns all frames.
std::vector<PathFrame> telling(std::vector<PathFrame> frames) {
  std::vector<PathFrame> kept;
  std::copy_if(frames.begin(), frames.end(), std::back_inserter(kept),
               [](const PathFrame& frame) { return frame.origin != Origin::none || is_mark(frame); });
  return kept.empty() ? frames : kept;
}

// Returns true if omitted frames are counted in a separate line. A short report marks the frame beside them with "..."
// instead.
bool counts_left_out(const Page& page) {
  return page.detail().frames == Detail().frames;
}

// Orders the positions of frames by importance: first marks (NVTX ranges and notes such as [no CPU stack]), then the
// program's own frames, then library frames in the table of functions, then others. A long list also keeps the
// program's outermost frame. A short list ranks [no Python frames] last, because most stacks of a thread have it.
std::vector<size_t> by_importance(const std::vector<PathFrame>& frames, const Page& page) {
  std::vector<size_t> order(frames.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = frames.size() - 1 - i;
  }
  const bool brief = !counts_left_out(page);
  const auto outermost_own =
      std::find_if(frames.begin(), frames.end(), [](const PathFrame& frame) { return frame.origin == Origin::own; });
  const auto innermost_own =
      std::find_if(frames.rbegin(), frames.rend(), [](const PathFrame& frame) { return frame.origin == Origin::own; });
  std::unordered_set<const char*> seen;  // addresses of the names, because comparing many long names would be slow
  std::vector<std::pair<int, size_t>> importance(frames.size());
  for (const size_t position : order) {
    const PathFrame& frame = frames[position];
    const bool is_new = seen.insert(frame.name.data()).second;
    if (is_mark(frame)) {
      importance[position].first = brief && frame.name == analyze::kNoPythonFrames ? 6 : 0;
    } else if (!is_new) {  // a recursive call is less important, because an inner frame has the same name
      importance[position].first = 6;
    } else if (frame.origin == Origin::own) {
      importance[position].first = &frame == &*innermost_own ? 1 : !brief && &frame == &*outermost_own ? 2 : 3;
    } else {
      const size_t rank = page.names().rank(frame.name);
      importance[position] = {frame.origin != Origin::library ? 7 : rank > 0 ? 4 : 5, SIZE_MAX - rank};
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return importance[a] < importance[b]; });
  return order;
}

std::vector<bool> chosen(const std::vector<PathFrame>& frames, const Page& page) {
  const size_t most = page.detail().frames;
  if (page.full() || frames.size() <= (counts_left_out(page) ? most + 1 : most)) {
    return std::vector<bool>(frames.size(), true);
  }
  std::vector<bool> shown(frames.size(), false);
  const std::vector<size_t> order = by_importance(frames, page);
  for (size_t i = 0; i < most; ++i) {
    shown[order[i]] = true;
  }
  if (!counts_left_out(page)) {
    return shown;
  }
  // Show a frame if it would be the only one omitted here: the line about the omission would take as much space.
  for (size_t i = 0; i < frames.size(); ++i) {
    const bool alone = (i == 0 || shown[i - 1]) && (i + 1 == frames.size() || shown[i + 1]);
    shown[i] = shown[i] || alone;
  }
  return shown;
}

// One line of a path. Its text is made when it is needed, because a path may have 65536 frames with long names.
struct Line {
  size_t frame = 0;
  size_t left_out = 0;  // number of omitted frames, if this line reports an omission
  // True: frames before this one, or all frames after it, were omitted, and no line reports that.
  bool follows_left_out = false;
  bool precedes_left_out = false;
};

struct LineText {
  std::string name;
  std::string location;
};

// The location gets the width that the name does not need. If that is too little, it gets up to half of the line.
LineText frame_line(const PathFrame& frame, size_t width_left, const Page& page) {
  LineText text;
  text.location = shown_name(shown_ends(frame.location));
  const size_t location = text.location.empty() ? 0 : kBetween + std::min(utf8_length(text.location), width_left / 2);
  const bool is_signature = frame.cls == analyze::FrameClass::native || frame.cls == analyze::FrameClass::inlined;
  text.name = page.name(frame.name, width_left - location, is_signature ? Naming::signature : Naming::plain);
  return text;
}

std::vector<Line> lines_of(const std::vector<PathFrame>& frames, const Page& page) {
  const std::vector<bool> shown = chosen(frames, page);
  const bool counts = counts_left_out(page);
  std::vector<Line> lines;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (shown[i]) {
      lines.push_back({.frame = i, .follows_left_out = !counts && i > 0 && !shown[i - 1]});
      continue;
    }
    if (!counts) {
      continue;
    }
    if (lines.empty() || lines.back().left_out == 0) {
      lines.emplace_back();
    }
    ++lines.back().left_out;
  }
  if (!counts && !lines.empty()) {
    lines.back().precedes_left_out = !shown.back();
  }
  return lines;
}

// Returns the width of the column of names. Ignores lines whose location does not fit beside the name.
size_t names_width(const std::vector<Line>& lines, const std::vector<PathFrame>& frames, size_t width_left,
                   const Page& page) {
  constexpr size_t kMostBytes = 4;  // UTF-8 bytes per character
  size_t names = 0;
  for (const Line& line : lines) {
    const PathFrame& frame = frames[line.frame];
    const bool is_too_long = page.full() && frame.name.size() / kMostBytes > width_left;
    if (line.left_out > 0 || frame.location.empty() || is_too_long) {
      continue;
    }
    const LineText text = frame_line(frame, width_left, page);
    const size_t width = utf8_length(text.name) + kBetween;
    names = width + utf8_length(text.location) > width_left ? names : std::max(names, width);
  }
  return names;
}

}  // namespace

void print_frames(const analyze::CallPath& path, Page& page) {
  const size_t width_left = std::max(kLeastPathWidth, page.width() - std::min(page.width(), kIndent.size()));
  const std::vector<PathFrame> frames = page.all_frames() ? path.shown() : telling(path.shown());
  const std::vector<Line> lines = lines_of(frames, page);
  const size_t names = names_width(lines, frames, width_left, page);
  for (const Line& line : lines) {
    std::string text(line.follows_left_out ? kLeftOutBefore : kIndent);
    if (line.left_out > 0) {
      page.dim_line(text + "... " + counted_text(line.left_out, "frame"));
      continue;
    }
    const PathFrame& frame = frames[line.frame];
    const size_t width = width_left - (line.precedes_left_out ? kLeftOutAfter.size() : 0);
    const LineText shown = frame_line(frame, width, page);
    text += shown.name;
    if (!shown.location.empty()) {
      const size_t used = utf8_length(shown.name);
      const size_t location = utf8_length(shown.location);
      const size_t aligned = location < width && names + location <= width ? names : 0;
      text.append(std::max(aligned, used + kBetween) - used, ' ');
      text += page.full() ? shown.location : cut_front(shown.location, width - std::min(width, used + kBetween));
    }
    text += line.precedes_left_out ? kLeftOutAfter : "";
    frame.origin == Origin::own ? page.line(text) : page.dim_line(text);
  }
}

}  // namespace gpuprof::output
