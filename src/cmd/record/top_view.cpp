#include "cmd/record/top_view.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "analyze/names/frame_origin.h"
#include "analyze/names/labels.h"
#include "base/log.h"
#include "cmd/record/top_text.h"

namespace gpuprof::cmd {
namespace {

constexpr uint64_t kLineNs = 5'000'000'000;
constexpr size_t kLeastRows = 8;  // smallest terminal height at which the view is drawn
constexpr size_t kMostTopLines = 24;

bool has_colors() {
  const char* const unwanted = std::getenv("NO_COLOR");
  return unwanted == nullptr || *unwanted == '\0';
}

}  // namespace

void TopView::show(const record::LiveState& state) {
  const Screen screen = screen_of_stderr(true);
  if (screen.columns == 0 || screen.rows < kLeastRows) {
    lines_.hide();
    show_line(state);
    return;
  }
  // Leaves half of the screen to the output of the target.
  const TopShape shape{screen.columns, std::min(screen.rows / 2, kMostTopLines), has_colors()};
  lines_.show(top_lines(state, before_, shape), screen);
  remember(state);
}

// Prints nothing in the background, because another job then uses the terminal.
void TopView::show_line(const record::LiveState& state) {
  const bool in_background = screen_of_stderr(false).columns != 0 && screen_of_stderr(true).columns == 0;
  if (in_background || state.elapsed_ns - last_line_ns_ < kLineNs) {
    return;
  }
  last_line_ns_ = state.elapsed_ns;
  log::asked(top_line(state, before_));
  remember(state);
}

// With windows, rates cover the last 5 to 10 s, because CUDA reports the launches between windows only after a window.
void TopView::remember(const record::LiveState& state) {
  if (state.between_windows == 0) {
    before_ = later_ = state;
  } else if (state.elapsed_ns - later_.elapsed_ns >= kLineNs) {
    before_ = std::exchange(later_, state);
  }
}

std::string TopView::place(const profile::Tables& tables, const profile::Work& work) const {
  std::string_view innermost;
  for (const bool own : {true, false}) {
    const auto stack = tables.stack(false, work.ustack);
    for (auto element = stack.rbegin(); element != stack.rend(); ++element) {
      const analyze::Origin origin = analyze::origin_of(tables, *element, false);
      if (own ? origin == analyze::Origin::own : origin != analyze::Origin::none) {
        innermost = element->is_label ? tables.label(*element) : tables.text(tables.frame(*element).name);
        break;
      }
    }
    if (!innermost.empty()) {
      break;
    }
  }
  return innermost.empty() ? "[no CPU stack]" : std::string(analyze::without_parameters(innermost));
}

}  // namespace gpuprof::cmd
