// A flame graph as one self-contained interactive SVG: works from file:// with no network.
//
// Two pictures share the file. The static one (rectangles and fitted labels, 1200 px wide) is what an image viewer
// shows. Where scripts run, the embedded data redraws it at the window's width, with zoom, search and keyboard.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "analyze/paths/flame_tree.h"
#include "output/weight.h"

namespace gpuprof::output {

// What bounds the file: 100,000 frames come to 3 to 10 MB. Beyond a limit the lightest frames go, never their share
// of a parent's width, and the picture says so.
struct SvgLimits {
  size_t data_frames = 100'000;             // frames that zooming can reach
  size_t drawn_frames = 8'000;              // frames drawn at once, in the static picture and by the script
  size_t depth = 1'000;                     // levels above the root
  size_t name_bytes = 2'048;                // of one name, cut with an ellipsis
  size_t all_name_bytes = 6 * 1024 * 1024;  // of all names; the cut gets shorter until they fit
};

// A differential flame graph: two measurements of one program. What the tree's weights hold as bytes is what the other
// measurement has of the width's kind; colours stand for the change from the old one to the new one.
struct SvgDifference {
  bool shows_new = true;  // widths are those of the new measurement, and bytes those of the old one; else the reverse
};

struct SvgOptions {
  std::string title = "GPU flame graph";
  std::string subtitle;  // e.g. the command
  std::string facts;     // where and when it was recorded: "host1, 2026-11-23 14:05 UTC"; empty if that is not known
  std::string notice;    // what is missing ("lost 3.1% of launches"); empty if nothing
  WeightChoice weight;   // what a width stands for; times are printed in a fitting unit and, exactly, in ns
  std::string time_name = "GPU time";   // what Weight::ns measures
  std::string count_name = "launches";  // what Weight::count counts, plural
  std::string width_note;               // a sentence more about widths; empty if there is none
  double min_width_px = 0.1;            // narrower frames are not drawn until a zoom widens them
  SvgLimits limits;
  bool inverted = false;                    // the tree is: frames are below what calls them
  std::optional<SvgDifference> difference;  // none: colours stand for classes of frames
};

// Never fails. The same tree gives the same bytes, in whatever order its children were made. Siblings are sorted by
// name; frames whose weight is 0 are left out. Numbers above 2^53 are exact in the static picture only.
std::string svg(const analyze::FlameTree& tree, const SvgOptions& options);

}  // namespace gpuprof::output
